package tracetest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Processor is the processor time that this process has taken since it had taken some: what
// others do on the machine counts for nothing.
func Processor(tb testing.TB, since time.Duration) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano()+u.Stime.Nano()) - since
}

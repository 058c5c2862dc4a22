package generated

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// spent is the CPU time of a campaign.
var spent spending

// spending has the CPU time of compilers and programs, in nanoseconds.
type spending struct{ compilers, programs atomic.Int64 }

// String adds the CPU time of this process, which runs the tool.
func (s *spending) String() string {
	var own syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	tool := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	return fmt.Sprintf("processor time: compilers %v, programs %v, tool and judge %v",
		rounded(s.compilers.Load()), rounded(s.programs.Load()), rounded(int64(tool)))
}

func rounded(n int64) time.Duration { return time.Duration(n).Round(10 * time.Millisecond) }

// cpu returns the CPU time of a process that was waited for, and of its children that it has waited for.
func cpu(p *os.ProcessState) time.Duration {
	if p == nil {
		return 0
	}
	return p.UserTime() + p.SystemTime()
}

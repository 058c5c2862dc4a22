package phrase

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

const stopped = "the process is stopped by a signal (SIGSTOP, Ctrl-Z, a suspended job), and no thread runs until "

// StoppedWarning returns the warning about a process that was stopped by a signal before it was inspected.
func StoppedWarning(pid int) string { return stopped + fmt.Sprintf("`kill -CONT %d`", pid) }

// Stopped returns the warning of a picture that its process was stopped by a signal; "" if it was not.
func Stopped(pic *picture.Picture) string {
	for _, w := range pic.Warnings {
		if strings.HasPrefix(w, stopped) {
			return w
		}
	}
	return ""
}

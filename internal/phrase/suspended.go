package phrase

import "fmt"

// Suspended returns the text on a process that a signal has stopped, with the command that continues it.
func Suspended(pid int) string {
	return fmt.Sprintf("the process is stopped by a signal (SIGSTOP, Ctrl-Z, a suspended job), and no thread runs "+
		"until `kill -CONT %d`", pid)
}

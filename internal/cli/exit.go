package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Exit statuses of all verbs. They are documented in the README and in the help text.
const (
	ExitOK    = 0
	ExitError = 1 // the target could not be read
	ExitUsage = 2 // the command line is wrong
)

// Exit statuses of diagnose if there is a verdict of the kinds that --fail-on names.
const (
	ExitFound = 3 // a hang, or a verdict of another kind
	ExitCrash = 4 // a crash, and no hang
)

// Further exit statuses of watch.
const (
	ExitStuck    = 3 // no progress
	ExitSpinning = 4
	ExitUnknown  = 5
)

// ExitOutput is the exit status of a verb that could not write its output: EX_IOERR of sysexits.h.
const ExitOutput = 74

// ExitInterrupted is the exit status of a verb that Ctrl-C ended. A shell reports the same status for a program
// that SIGINT killed.
const ExitInterrupted = ExitSignal + int(unix.SIGINT)

// Further exit statuses of run. They are those of timeout(1) and env(1), which programs do not use.
const (
	ExitHang     = 124 // the program made no progress and was ended
	ExitOwn      = 125 // run itself failed
	ExitNoExec   = 126 // the program exists and cannot be executed
	ExitNotFound = 127
	ExitSignal   = 128 // plus the number of the signal that ended the program
)

// statusError ends the tool with an exit status and no message.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

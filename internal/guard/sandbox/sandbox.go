// Package sandbox removes rights of this process before it reads an untrusted file: a core, and the programs
// and libraries that it names. Even if such a file exploits a defect of a reader, the process cannot write
// files, start programs or connect to other machines.
//
// seccomp restricts system calls, and with them files if the process does not write any; otherwise Landlock
// restricts files, as far as the kernel supports it. The restrictions are permanent: Enter is for a process with a
// single task.
package sandbox

import (
	"errors"
	"fmt"
	"slices"
)

// Mode selects whether the process is restricted.
type Mode string

// The modes of --sandbox.
const (
	Auto    Mode = "auto"    // as far as the kernel supports it
	Require Mode = "require" // completely, or an error
	Off     Mode = "off"
)

// ParseMode returns the mode of a name.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); slices.Contains([]Mode{Auto, Require, Off}, m) {
		return m, nil
	}
	return "", fmt.Errorf("--sandbox %s: it is auto, require or off", s)
}

// ErrOff is the reason for missing restrictions with Off.
var ErrOff = errors.New("--sandbox=off")

// Policy lists the remaining rights of the process.
type Policy struct {
	// Write are directories in which files may be created and written. Open files stay writable.
	Write []string
	// Network allows connections to other machines.
	Network bool
}

// Report lists the active restrictions.
type Report struct {
	// Files means that files can be written only where the policy allows it.
	Files bool
	// Calls means that programs cannot be started, processes cannot be traced, and, without Policy.Network,
	// only local sockets can be opened.
	Calls bool
	// Missing is the reason for missing restrictions, or nil.
	Missing error
}

// Enter restricts the process, with all of its threads. With Require, a missing restriction is an
// error; rights that were removed by then stay removed.
func Enter(mode Mode, p Policy) (Report, error) {
	if mode == Off {
		return Report{Missing: ErrOff}, nil
	}
	filesErr, callsErr := restrict(p)
	r := Report{Files: filesErr == nil, Calls: callsErr == nil, Missing: errors.Join(filesErr, callsErr)}
	if mode == Require && r.Missing != nil {
		return r, fmt.Errorf("--sandbox=require: %w; --sandbox=auto goes on without", r.Missing)
	}
	return r, nil
}

// restrict removes the rights. Without writable directories, the filter of system calls is enough, also for
// files: one call installs it on all threads. Landlock's rules for directories must be applied by each thread,
// which has to wake up; that takes several times as long as everything else.
func restrict(p Policy) (filesErr, callsErr error) {
	if len(p.Write) > 0 && threadsByProc { // signals by tkill, which is refused later
		return restrictFiles(p, false), restrictCalls(p)
	}
	callsErr = restrictCalls(p)
	if len(p.Write) == 0 && callsErr == nil {
		return nil, nil
	}
	return restrictFiles(p, callsErr == nil), callsErr
}

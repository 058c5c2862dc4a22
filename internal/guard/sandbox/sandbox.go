// Package sandbox takes rights away from this process before it reads a file that nobody
// vouches for: a core, and the programs and libraries that it names. A reader that such a
// file could lead astray can then write nowhere, start nothing and reach nobody.
//
// System calls are bounded by seccomp, and with them files if nothing is to be written; else
// files are by Landlock, as far as the kernel has them. Neither is given back: Enter is for a process that does one
// thing and ends.
package sandbox

import (
	"errors"
	"fmt"
	"slices"
)

// Mode says whether the process is locked in.
type Mode string

// The modes of --sandbox.
const (
	Auto    Mode = "auto"    // as far as the kernel can
	Require Mode = "require" // completely, or not at all with an error
	Off     Mode = "off"
)

// ParseMode is the mode of a name.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); slices.Contains([]Mode{Auto, Require, Off}, m) {
		return m, nil
	}
	return "", fmt.Errorf("--sandbox %s: it is auto, require or off", s)
}

// ErrOff is why nothing holds with Off.
var ErrOff = errors.New("--sandbox=off")

// Policy is what the process may still do.
type Policy struct {
	// Write are directories in which files may be made and written. What is open already
	// can be written without.
	Write []string
	// Network lets the process connect to other machines.
	Network bool
}

// Report says what holds.
type Report struct {
	// Files says that files can be written only where the policy lets them be.
	Files bool
	// Calls says that no program can be started, no process be traced, and, without
	// Policy.Network, no socket be opened but local ones.
	Calls bool
	// Missing is why not all of it holds; nil if it does.
	Missing error
}

// Enter locks the process in, all of its threads. With Require, what is missing is an
// error; rights that were taken by then stay taken.
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

// restrict takes the rights away. Where nothing is to be written, the filter of system calls is
// enough, also for files: it comes to all threads by one call. Landlock's rules, which know
// directories, have to be taken on by each thread, for which each is woken up; that takes
// several times as long as all the rest.
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

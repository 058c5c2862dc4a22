// Package sandbox takes rights away from this process before it reads a file that nobody
// vouches for: a core, and the programs and libraries that it names. A reader that such a
// file could lead astray can then write nowhere, start nothing and reach nobody.
//
// Files are bounded by Landlock and system calls by seccomp, as far as the kernel has
// them. Neither is given back: Enter is for a process that does one thing and ends.
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
	// Write are directories in which files may be made and written.
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
	var r Report
	var filesErr, callsErr error
	if threadsByProc { // signals by tkill, which is refused later
		filesErr, callsErr = restrictFiles(p, false), restrictCalls(p)
	} else {
		callsErr = restrictCalls(p)
		filesErr = restrictFiles(p, callsErr == nil)
	}
	r.Files, r.Calls = filesErr == nil, callsErr == nil
	r.Missing = errors.Join(filesErr, callsErr)
	if mode == Require && r.Missing != nil {
		return r, fmt.Errorf("--sandbox=require: %w; --sandbox=auto goes on without", r.Missing)
	}
	return r, nil
}

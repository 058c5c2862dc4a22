package rtl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Place is the position of a thread's code, as far as its stack shows it.
type Place uint8

// The places of a thread.
const (
	PlaceUnknown Place = iota // no stack
	PlaceUser                 // in user code, or in a library that it called
	PlaceEntry                // in the runtime, called by known user code
	PlaceRuntime              // in the runtime, with no call of user code
	PlaceCut                  // in the runtime, with a stack that ends before the caller of the runtime
	PlaceOutside              // in the C library alone: being started, or ended
)

// PlaceOf returns the place of a thread by its stack, PlaceUnknown without evidence.
func PlaceOf(ev *handles.Evidence) Place {
	switch {
	case ev == nil:
		return PlaceUnknown
	case ev.Outside:
		return PlaceOutside
	case ev.TailCalled:
		return PlaceUser
	case ev.Entry != nil:
		return PlaceEntry
	}
	for _, f := range ev.Frames {
		switch {
		case f.Owned && ev.Cut:
			return PlaceCut
		case f.Owned:
			return PlaceRuntime
		case !IsSystem(f):
			return PlaceUser
		}
	}
	return PlaceUnknown
}

// programCalls lists blocking system calls that no OpenMP runtime makes while a program runs: runtimes wait in
// futex calls, or yield.
var programCalls = []string{
	"accept", "accept4", "clock_nanosleep", "connect", "epoll_pwait", "epoll_pwait2", "epoll_wait", "fsync",
	"fdatasync", "flock",
	"io_getevents", "io_pgetevents", "io_uring_enter", "mq_timedreceive", "mq_timedsend", "msgrcv", "msgsnd",
	"nanosleep", "pause",
	"poll", "ppoll", "pselect6", "recvfrom", "recvmmsg", "recvmsg", "rt_sigsuspend", "rt_sigtimedwait", "select",
	"semop",
	"semtimedop", "sendmmsg", "sendmsg", "sendto", "wait4", "waitid",
}

// ProgramCall reports whether a system call is the program's even if the stack shows a runtime below it.
func ProgramCall(name string) bool { return slices.Contains(programCalls, name) }

// Working explains why a thread at PlaceUser executes the program's code.
func Working(ev *handles.Evidence) string {
	switch {
	case ev.TailCalled && ProgramCall(ev.Syscall):
		return fmt.Sprintf("in system call %s, which no OpenMP runtime makes: the function of its region or task "+
			"ended in a tail call to it", ev.Syscall)
	case ev.TailCalled:
		return "in the C library, which no OpenMP runtime calls by a pointer: the function of its region or task, " +
			"which the runtime called so, ended in a tail call"
	}
	return "its innermost frame is user code"
}

// IsSystem reports whether the frame is the C library's or the kernel's, or is called between it and the
// program.
func IsSystem(f handles.EvidenceFrame) bool { return f.Between || libc.IsSystem(f.Module) }

// WaitingState returns the inferred state of a thread that waits for the object of the given kind at id. A null
// id is unknown.
func WaitingState(s handles.State, kind picture.WaitKind, id callbacks.Address,
	evidence ...string) handles.ThreadState {
	st := handles.ThreadState{State: s, Evidence: JoinEvidence(evidence...)}
	if !id.IsNull() {
		st.WaitID, st.WaitKind = id.Offset, kind
	}
	return st
}

// JoinEvidence joins the parts that are not empty.
func JoinEvidence(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "; ")
}

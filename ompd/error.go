package ompd

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Error is the error of a routine: which one, asked of what, with which return
// code. It answers errors.Is with its code, and with whatever its cause answers.
type Error struct {
	Routine string       // the C routine, such as "ompd_get_state", or the method if the standard has none
	Handle  fmt.Stringer // what the routine was asked of; nil for the library itself
	RC      callbacks.RC // never callbacks.OK
	Err     error        // the cause, never nil
}

// Error names the routine, the handle, the cause and the return code.
func (e *Error) Error() string {
	on := ""
	if e.Handle != nil {
		on = "(" + e.Handle.String() + ")"
	}
	var rc callbacks.RC
	if errors.As(e.Err, &rc) && rc == e.RC { // the cause's own text has it
		return fmt.Sprintf("%s%s: %v", e.Routine, on, e.Err)
	}
	return fmt.Sprintf("%s%s: %v (%v)", e.Routine, on, e.Err, e.RC)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's return code.
func (e *Error) Is(target error) bool {
	rc, ok := target.(callbacks.RC)
	return ok && rc == e.RC
}

// fail makes an *Error of err; nil stays nil.
func fail(routine string, h fmt.Stringer, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Routine: routine, Handle: h, RC: RCOf(err), Err: err}
}

// causes are the return codes of errors that carry none.
var causes = []struct {
	err error
	rc  callbacks.RC
}{
	{callbacks.Unavailable, callbacks.Unavailable}, // what only answers errors.Is: rtl.Dormant
	{callbacks.ErrUnsupportedKind, callbacks.Unsupported},
	{callbacks.ErrNoThread, callbacks.Unavailable},
	{callbacks.ErrNoThreadStorage, callbacks.Unavailable},
	{callbacks.ErrNoSymbol, callbacks.Unavailable},
	{callbacks.ErrNoType, callbacks.Unavailable},
	{layout.ErrUnknown, callbacks.Unavailable},
	{callbacks.ErrUnmapped, callbacks.DeviceReadError},
	{callbacks.ErrNotCaptured, callbacks.DeviceReadError},
}

// RCOf is the return code of err: callbacks.OK for nil, the code that it wraps,
// or else the one that suits its cause, DeviceReadError for memory that could not
// be read and callbacks.Error for whatever is left.
func RCOf(err error) callbacks.RC {
	var of *Error
	var rc callbacks.RC
	var fault *callbacks.FaultError
	switch {
	case err == nil:
		return callbacks.OK
	case errors.As(err, &of):
		return of.RC
	case errors.As(err, &rc) && rc != callbacks.OK:
		return rc
	case errors.As(err, &fault):
		return callbacks.DeviceReadError
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.rc
		}
	}
	return callbacks.Error
}

// errorTexts say what a return code means, in words for people.
var errorTexts = map[callbacks.RC]string{
	callbacks.OK:                 "the operation was successful",
	callbacks.Unavailable:        "the information is not available in this context",
	callbacks.StaleHandle:        "the handle is not valid, or no longer",
	callbacks.BadInput:           "an argument is not valid",
	callbacks.Error:              "a fatal error occurred",
	callbacks.Unsupported:        "the request is not supported",
	callbacks.NeedsStateTracking: "the runtime must track states for this: start the program with OMP_DEBUG=enabled",
	callbacks.Incompatible:       "the runtime, the version or the scope does not fit the request",
	callbacks.DeviceReadError:    "the target's memory could not be read",
	callbacks.DeviceWriteError:   "the target's memory could not be written",
	callbacks.NoMem:              "out of memory",
	callbacks.Incomplete:         "only the first part of the information was returned",
	callbacks.CallbackError:      "a callback of the debugger reported an error",
	callbacks.IncompatibleHandle: "the handle is not one for this scope",
}

// ErrorString is ompd_get_error_string of the 2013 draft, section 8.8: what a
// return code means.
func ErrorString(rc callbacks.RC) string {
	if s, ok := errorTexts[rc]; ok {
		return s
	}
	return "unknown return code"
}

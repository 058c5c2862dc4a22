package ompd

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Error is the error of a routine: the routine, its handle, and the return code. It matches its code, and
// everything that its cause matches, with errors.Is.
type Error struct {
	Routine string       // the C routine, such as "ompd_get_state", or the method if it is not in the standard
	Handle  fmt.Stringer // the routine's handle; nil for the library itself
	RC      callbacks.RC // never callbacks.OK
	Err     error        // the cause, never nil
}

// Error returns the routine, the handle, the cause and the return code.
func (e *Error) Error() string {
	on := ""
	if e.Handle != nil {
		on = "(" + e.Handle.String() + ")"
	}
	var rc callbacks.RC
	if errors.As(e.Err, &rc) && rc == e.RC { // the cause's own text contains it
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

// fail wraps err in an *Error; nil stays nil.
func fail(routine string, h fmt.Stringer, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Routine: routine, Handle: h, RC: RCOf(err), Err: err}
}

// causes maps errors without a return code to their code.
var causes = []struct {
	err error
	rc  callbacks.RC
}{
	{callbacks.Unavailable, callbacks.Unavailable}, // errors that only match with errors.Is: rtl.Dormant
	{callbacks.ErrUnsupportedKind, callbacks.Unsupported},
	{callbacks.ErrNoThread, callbacks.Unavailable},
	{callbacks.ErrNoThreadStorage, callbacks.Unavailable},
	{callbacks.ErrNoSymbol, callbacks.Unavailable},
	{callbacks.ErrNoType, callbacks.Unavailable},
	{layout.ErrUnknown, callbacks.Unavailable},
	{callbacks.ErrUnmapped, callbacks.DeviceReadError},
	{callbacks.ErrNotCaptured, callbacks.DeviceReadError},
}

// RCOf returns the return code of err: callbacks.OK for nil, the wrapped code, or else the code of its cause:
// DeviceReadError for unreadable memory and callbacks.Error for other causes.
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

// errorTexts maps return codes to their meaning, for users.
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

// ErrorString is ompd_get_error_string of the 2013 draft, section 8.8: it returns the meaning of a return code.
func ErrorString(rc callbacks.RC) string {
	if s, ok := errorTexts[rc]; ok {
		return s
	}
	return "unknown return code"
}

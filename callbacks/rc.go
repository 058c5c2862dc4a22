package callbacks

// RC is a return code of OMPD (ompd_rc_t). Each code except OK is an error; typed errors of this module match
// their code with errors.Is.
type RC uint8

// The return codes of OpenMP 6.0; all except the last three are also those of 5.0.
const (
	OK                 RC = 0
	Unavailable        RC = 1  // information is not available in this context
	StaleHandle        RC = 2  // the handle is no longer valid
	BadInput           RC = 3  // an argument is not valid
	Error              RC = 4  // a fatal error occurred
	Unsupported        RC = 5  // the request is not supported
	NeedsStateTracking RC = 6  // the runtime must track states for this
	Incompatible       RC = 7  // the target or the version does not fit this library
	DeviceReadError    RC = 8  // the target's memory could not be read
	DeviceWriteError   RC = 9  // the target's memory could not be written
	NoMem              RC = 10 // out of memory
	Incomplete         RC = 11 // only part of the information was returned (5.1)
	CallbackError      RC = 12 // a callback of the debugger reported an error (5.1)
	IncompatibleHandle RC = 13 // the handle does not fit this scope (6.0)
)

var rcNames = [...]string{
	"ompd_rc_ok", "ompd_rc_unavailable", "ompd_rc_stale_handle", "ompd_rc_bad_input", "ompd_rc_error",
	"ompd_rc_unsupported", "ompd_rc_needs_state_tracking", "ompd_rc_incompatible", "ompd_rc_device_read_error",
	"ompd_rc_device_write_error", "ompd_rc_nomem", "ompd_rc_incomplete", "ompd_rc_callback_error",
	"ompd_rc_incompatible_handle",
}

// String returns the specification's name of the code.
func (c RC) String() string {
	if int(c) < len(rcNames) {
		return rcNames[c]
	}
	return "ompd_rc_unknown"
}

// Error returns the code's name; it makes every code an error.
func (c RC) Error() string { return c.String() }

// Package callbacks is the contract between the OMPD library and whoever holds
// the target: a core file, a running process, or a debugger.
//
// It is the Go form of the callback table that a debugger lends to an OMPD
// library (OpenMP 5.2, section 20.4; the 2013 draft, appendix B). It imports
// nothing of this module, and it knows neither OpenMP runtimes nor file
// formats.
//
// A target answers at least memory, symbols and threads (Target). What else it
// can do (registers, modules, type information, mappings) it offers through the
// small extra interfaces of this package, asked for by type assertion.
package callbacks

import (
	"errors"
	"fmt"
)

// Memory reads the memory of a target.
//
// Laws: a read is whole or an error; an error wraps a *FaultError that names
// the first byte that could not be read; after an error the content of p is
// unspecified. Reading never changes the target. A Memory may be used by
// several goroutines at once.
//
// ReadMemory is the callback ompd_callback_memory_read_fn_t.
type Memory interface {
	// ReadMemory fills p from address a. An empty p reads nothing and
	// succeeds.
	ReadMemory(a Address, p []byte) error
}

// Lender is a Memory that keeps copies of what it reads, and shows them. It is for
// structures that are read by thousands.
type Lender interface {
	// Lend returns the n bytes from address a on, as ReadMemory would read them. It
	// is nil if they do not lie side by side in what is kept, or cannot be read:
	// ReadMemory tells which. They never change, and must not be changed. A type
	// that changes what is read must not show this method of the one it is made of.
	Lend(a Address, n uint64) []byte
}

// Sparing is a Memory of which every byte is dear, such as one behind a debugger's
// script: of a structure, only the fields that are asked for are read, and not before
// they are asked for.
type Sparing interface {
	Memory
	// ReadLater is ReadMemory for a further field of a structure of which one could
	// be read. Whoever asked for the structure may not look for an error any more: the
	// memory keeps it, and fails what was asked of the target as a whole.
	ReadLater(a Address, p []byte) error
	// Foresee tells which pieces will be read next, so that one question asks for all of
	// them. What of them cannot be read is told when it is read.
	Foresee(pieces []Piece)
}

// Piece is some memory of a target.
type Piece struct {
	At   Address
	Size uint64
}

// Symbols finds the addresses of symbols in a target.
//
// It is the callback ompd_callback_symbol_addr_fn_t, split in its two uses.
type Symbols interface {
	// Symbol returns the address of the global symbol name. file limits the
	// search to the module whose path is, or whose base name is, file; an
	// empty file searches all modules in link order. An unknown name is an
	// error that is ErrNoSymbol.
	Symbol(name, file string) (Address, error)

	// ThreadSymbol returns the address of t's own instance of the
	// thread-local symbol name. An unknown name is ErrNoSymbol; a thread for
	// which the instance was never allocated is ErrNoThreadStorage.
	ThreadSymbol(t ThreadID, name, file string) (Address, error)
}

// Threads lists the operating-system threads of a target.
type Threads interface {
	// ThreadIDs returns the identifiers of all threads in the given kind,
	// in the target's own order. The i-th element is the same thread for
	// every kind. A kind that the target cannot give is ErrUnsupportedKind.
	ThreadIDs(kind IDKind) ([]ThreadID, error)
}

// Target is what every holder of a program can do.
type Target interface {
	Memory
	Symbols
	Threads
	// Arch is the instruction set and data model of the target.
	Arch() Arch
}

// RegisterReader is an extra power of a target: the registers of its threads.
type RegisterReader interface {
	// Registers returns the registers of thread t, which must be of kind
	// ThreadIDLWP.
	Registers(t ThreadID) (Registers, error)
}

// VectorReader is an extra power of a target: the floating-point and vector registers of its threads.
type VectorReader interface {
	// VectorRegisters returns the contents of these registers of thread t, which must be of kind ThreadIDLWP, in
	// an order of the target's own: two results are equal if the registers are. It fails for a thread in a system
	// call. A target that copies a process has them from the first stop after the first call on.
	VectorRegisters(t ThreadID) ([]byte, error)
}

// ModuleLister is an extra power of a target: the executable and the shared
// libraries that are mapped in it.
type ModuleLister interface {
	// Modules returns the loaded modules in link order, the executable
	// first. The error, if any, says what could not be found; the modules
	// that were found are returned beside it.
	Modules() ([]*Module, error)
}

// MappingLister is an extra power of a target: its memory mappings, ascending
// and without overlap.
type MappingLister interface {
	Mappings() []Mapping
}

// Scheduler is an extra power of a target that runs: on which processors its threads
// may run, and which signals reach them, as the operating system has it now. That is not of the moment at which the
// target's memory was read, and changes rarely.
type Scheduler interface {
	// AllowedProcessors lists the processors that thread t, which must be of
	// kind ThreadIDLWP, may run on: its affinity mask, ascending.
	AllowedProcessors(t ThreadID) ([]int, error)
	// ProcessorQuota is the tightest limit on the processor time of the
	// process; not ok if there is none, or if it cannot be known.
	ProcessorQuota() (ProcessorQuota, bool)
	// Cpuset is the processors that the process's group of processes is given,
	// as people write them ("0-3,8"), and where that was read, for people; both
	// are empty if that cannot be known.
	Cpuset() (processors, source string)
	// HandledSignals are the signals for which the process has handlers, bit n-1 for
	// signal n; not ok if that cannot be known.
	HandledSignals() (signals uint64, ok bool)
}

// ProcessorQuota limits the processor time that a group of processes may use.
type ProcessorQuota struct {
	// Processors is how many processors the group may keep busy all the time;
	// a part of one is possible.
	Processors float64
	Source     string // where that was read, with the values, for people
	// Periods is how many periods of the limit there were until now in which
	// something of the group ran, and Throttled in how many of these it was
	// held back; both are 0 if that is not known.
	Periods, Throttled uint64
}

// Types is an extra power of a debugger: sizes and field offsets from its own
// debug information. OMPD had these callbacks in the 2013 draft (appendix B,
// t_type_lookup, t_type_sizeof, t_type_field_offset); later versions dropped
// them.
type Types interface {
	// TypeSize is the size of type typ in bytes. An unknown type is
	// ErrNoType.
	TypeSize(typ, file string) (uint64, error)
	// FieldOffset is the offset of field in typ, and the field's size, both
	// in bytes. An unknown type or field is ErrNoType.
	FieldOffset(typ, field, file string) (offset, size uint64, err error)
}

// Errors that targets answer with. Test with errors.Is.
var (
	// ErrNoSymbol says that no module of the target defines the symbol.
	ErrNoSymbol = errors.New("no such symbol")
	// ErrNoThreadStorage says that the thread has no instance of the
	// thread-local variable yet.
	ErrNoThreadStorage = errors.New("thread-local variable not allocated for this thread")
	// ErrUnsupportedKind says that the target cannot name threads that way.
	ErrUnsupportedKind = errors.New("kind of thread identifier not supported by this target")
	// ErrNoThread says that the target has no such thread.
	ErrNoThread = errors.New("no such thread")
	// ErrNoType says that the debugger knows no such type or field.
	ErrNoType = errors.New("no such type or field")
)

// FaultError says which address of the target could not be read, and why.
type FaultError struct {
	Address Address // the first byte that could not be read
	Err     error   // the cause, never nil
}

// Error gives the address and the cause.
func (e *FaultError) Error() string { return fmt.Sprintf("read %v: %v", e.Address, e.Err) }

// Unwrap returns the cause.
func (e *FaultError) Unwrap() error { return e.Err }

// ErrUnmapped is the cause of a fault at an address where the target has
// nothing.
var ErrUnmapped = errors.New("address is not mapped")

// ErrNotCaptured is the cause of a fault at an address that the target had, but
// whose bytes are neither in the core nor in a file at hand.
var ErrNotCaptured = errors.New("memory is mapped but not in the core, and no matching file is at hand")

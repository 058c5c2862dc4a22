// Package callbacks is the contract between the OMPD library and the holder of the target: a core file, a
// running process, or a debugger.
//
// It is the Go form of the callback table that a debugger passes to an OMPD library (OpenMP 5.2, section 20.4;
// the 2013 draft, appendix B). It imports no package of this module, and it depends neither on OpenMP runtimes
// nor on file formats.
//
// A target provides at least memory, symbols and threads (Target). Other capabilities (registers, modules, type
// information, mappings) are small optional interfaces of this package, found by type assertion.
package callbacks

import (
	"errors"
	"fmt"
)

// Memory reads the memory of a target.
//
// Laws: a read is whole or an error; an error wraps a *FaultError with the first byte that could not be read;
// after an error the content of p is unspecified. Reading never changes the target. A Memory may be used by
// several goroutines at once.
//
// ReadMemory is the callback ompd_callback_memory_read_fn_t.
type Memory interface {
	// ReadMemory fills p from address a. An empty p is not read and succeeds.
	ReadMemory(a Address, p []byte) error
}

// Lender is a Memory that keeps copies of the memory that it reads, and shares them. It is for structures that
// are read thousands of times.
type Lender interface {
	// Lend returns the n bytes from address a, as ReadMemory would read them. It returns nil if they are not
	// adjacent in the copies, or cannot be read: ReadMemory distinguishes these cases. They never change, and
	// must not be changed. A type that changes the data it reads must not expose this method of an embedded
	// Memory.
	Lend(a Address, n uint64) []byte
}

// Sparing is a Memory in which each byte is expensive to read (a debugger's script). Only the requested fields
// of a structure are read, and only on request.
type Sparing interface {
	Memory
	// ReadLater is ReadMemory for a further field of a structure with at least one readable field. The caller
	// may no longer check for errors: the memory keeps the error, and fails the request to the target as a
	// whole.
	ReadLater(a Address, p []byte) error
	// Foresee announces the pieces that will be read next, so that one request reads all of them. Unreadable
	// pieces cause an error when they are read.
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
	// Symbol returns the address of the global symbol name. file limits the search to the module with that path
	// or base name; an empty file searches all modules in link order. An unknown name is an error that is
	// ErrNoSymbol.
	Symbol(name, file string) (Address, error)

	// ThreadSymbol returns the address of t's own instance of the thread-local symbol name. An unknown name is
	// ErrNoSymbol; a thread for which the instance was never allocated is ErrNoThreadStorage.
	ThreadSymbol(t ThreadID, name, file string) (Address, error)
}

// Threads lists the operating-system threads of a target.
type Threads interface {
	// ThreadIDs returns the identifiers of all threads in the given kind, in the target's own order. The i-th
	// element is the same thread for every kind. A kind that the target does not support is ErrUnsupportedKind.
	ThreadIDs(kind IDKind) ([]ThreadID, error)
}

// Target is the interface that every holder of a program implements.
type Target interface {
	Memory
	Symbols
	Threads
	// Arch returns the instruction set and data model of the target.
	Arch() Arch
}

// RegisterReader is an optional capability of a target: the registers of its threads.
type RegisterReader interface {
	// Registers returns the registers of thread t, which must be of kind ThreadIDLWP.
	Registers(t ThreadID) (Registers, error)
}

// VectorReader is an optional capability of a target: the floating-point and vector registers of its threads.
type VectorReader interface {
	// VectorRegisters returns the contents of these registers of thread t, which must be of kind ThreadIDLWP, in
	// the layout of NT_PRFPREG (linux/elf.h), with further registers after it: two results of a target are equal if
	// the registers are. It fails for a thread in a system call. A target that copies a process has them from the
	// first stop after the first call.
	VectorRegisters(t ThreadID) ([]byte, error)
}

// ModuleLister is an optional capability of a target: the executable and the shared libraries mapped in it.
type ModuleLister interface {
	// Modules returns the loaded modules in link order, the executable first. The error, if any, describes the
	// missing modules; the others are returned with it.
	Modules() ([]*Module, error)
}

// MappingLister is an optional capability of a target: its memory mappings, ascending and without overlap.
type MappingLister interface {
	Mappings() []Mapping
}

// Scheduler is an optional capability of a running target: the processors on which its threads may run, and the
// signals that reach them, by the operating system's current data. This data may be newer than the target's
// memory, and changes rarely.
type Scheduler interface {
	// AllowedProcessors lists the processors on which thread t, which must be of kind ThreadIDLWP, may run: its
	// affinity mask, ascending.
	AllowedProcessors(t ThreadID) ([]int, error)
	// ProcessorQuota returns the tightest limit on the CPU time of the process; false if it is unlimited or
	// unknown.
	ProcessorQuota() (ProcessorQuota, bool)
	// Cpuset returns the processors assigned to the process's cgroup as a list ("0-3,8"), and their source, for
	// users; both are empty if unknown.
	Cpuset() (processors, source string)
	// HandledSignals returns the signals for which the process has handlers, bit n-1 for signal n; ok is false
	// if unknown.
	HandledSignals() (signals uint64, ok bool)
}

// ProcessorQuota limits the CPU time that a group of processes may use.
type ProcessorQuota struct {
	// Processors is the number of processors that the group may keep busy all the time; it may be a fraction.
	Processors float64
	Source     string // source, with the values, for users
	// Periods is the number of the limit's periods so far in which the group ran, and Throttled the number of
	// these in which it was held back; both are 0 if unknown.
	Periods, Throttled uint64
}

// Types is an optional capability of a debugger: sizes and field offsets from its own debug information. OMPD
// had these callbacks in the 2013 draft (appendix B, t_type_lookup, t_type_sizeof, t_type_field_offset); later
// versions dropped them.
type Types interface {
	// TypeSize returns the size of type typ in bytes. An unknown type is ErrNoType.
	TypeSize(typ, file string) (uint64, error)
	// FieldOffset returns the offset of field in typ, and the field's size, both in bytes. An unknown type or
	// field is ErrNoType.
	FieldOffset(typ, field, file string) (offset, size uint64, err error)
}

// Errors that targets return. Test with errors.Is.
var (
	// ErrNoSymbol means that no module of the target defines the symbol.
	ErrNoSymbol = errors.New("no such symbol")
	// ErrNoThreadStorage means that the thread has no instance of the thread-local variable yet.
	ErrNoThreadStorage = errors.New("thread-local variable not allocated for this thread")
	// ErrUnsupportedKind means that the target cannot identify threads that way.
	ErrUnsupportedKind = errors.New("kind of thread identifier not supported by this target")
	// ErrNoThread means that the target has no such thread.
	ErrNoThread = errors.New("no such thread")
	// ErrNoType means that the debugger knows no such type or field.
	ErrNoType = errors.New("no such type or field")
)

// FaultError is an address of the target that could not be read, and the reason.
type FaultError struct {
	Address Address // the first byte that could not be read
	Err     error   // the cause, never nil
}

// Error returns the address and the cause.
func (e *FaultError) Error() string { return fmt.Sprintf("read %v: %v", e.Address, e.Err) }

// Unwrap returns the cause.
func (e *FaultError) Unwrap() error { return e.Err }

// ErrUnmapped is the cause of a fault at an address that the target has not mapped.
var ErrUnmapped = errors.New("address is not mapped")

// ErrNotCaptured is the cause of a fault at an address that the target had mapped, but with bytes that are
// neither in the core nor in an available file.
var ErrNotCaptured = errors.New("memory is mapped but not in the core, and no matching file is at hand")

// Package libc reads structures of a target's C library: mutexes, threads, thread-local storage and
// the heap.
//
// From a target, its modules and its threads it finds the mutex at an address, the thread whose
// control block contains an address, and the stack or the freed block of the heap at an address. It
// does not interpret waits; its callers do.
//
// A process does not contain the version of glibc that laid out its structures. So one table
// (layouts.go) declares the known facts of each version, and a structure is accepted only after its
// own content has confirmed it: pointers to itself, list links that lead back, thread ids. A failed
// check is an error with the address and the reason.
package libc

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ErrUnsupported means that the structures of this C library, or on this machine, are unknown. Test
// with errors.Is.
var ErrUnsupported = errors.New("not known of this C library")

// Kind is which C library a program has.
type Kind uint8

// The kinds of C libraries.
const (
	Unknown Kind = iota // no module is named as one: a static program, or a target without modules
	Glibc
	Musl
)

func (k Kind) String() string {
	switch k {
	case Glibc:
		return "glibc"
	case Musl:
		return "musl"
	}
	return "not known"
}

// kindOf returns the C library by the names of a program's modules.
func kindOf(mods []*callbacks.Module) Kind {
	kind := Unknown
	for _, m := range mods {
		base := path.Base(m.Path)
		switch {
		case strings.HasPrefix(base, "ld-musl-"), strings.HasPrefix(base, "libc.musl-"):
			return Musl
		case isGlibc(base):
			kind = Glibc
		}
	}
	return kind
}

// isGlibc reports whether a file is glibc itself, whose name was libc-2.31.so or similar before
// glibc 2.34.
func isGlibc(base string) bool {
	return strings.HasPrefix(base, "libc.so") || strings.HasPrefix(base, "libc-")
}

// Thread is a thread as the C library knows it.
type Thread struct {
	Pthread uint64 // pthread_t: the address of its control block; 0 if it is not known
	LWP     uint64 // kernel thread id; 0 for one that the target does not have
}

// Config describes the target of a Library.
type Config struct {
	// Target has the memory. Modules and mappings are used if it lists them.
	Target callbacks.Target
	// Threads are the target's threads, and additional ones that an OpenMP runtime knows.
	Threads []Thread
	// PID is the LWP of the process's first thread; 0 if unknown.
	PID uint64
}

// Library is the C library of one stopped target. It reads lazily and caches. It is for one
// goroutine at a time.
type Library struct {
	target   callbacks.Target
	kind     Kind
	modules  []*callbacks.Module
	mappings func() []callbacks.Mapping
	threads  []Thread // ascending by Pthread
	pid      uint64
	stacks   []Stack // of threads that are there; nil until they are asked for
	caches   []Block // free blocks that threads keep for themselves; nil until they are asked for
}

// New returns the C library of a target.
func New(c Config) *Library {
	l := &Library{target: c.Target, pid: c.PID, threads: slices.Clone(c.Threads)}
	if lister, ok := c.Target.(callbacks.ModuleLister); ok {
		l.modules, _ = lister.Modules() // those that were found are listed beside the error
	}
	l.mappings = sync.OnceValue(func() []callbacks.Mapping {
		if lister, ok := c.Target.(callbacks.MappingLister); ok {
			return lister.Mappings()
		}
		return nil
	})
	l.kind = kindOf(l.modules)
	slices.SortStableFunc(l.threads, func(a, b Thread) int { return cmp.Compare(a.Pthread, b.Pthread) })
	return l
}

// Kind returns the kind of C library.
func (l *Library) Kind() Kind { return l.kind }

// Supported returns nil if the structures of this C library are known; what names the needed ones,
// in the plural.
func (l *Library) Supported(what string) error {
	if l.kind == Musl {
		return fmt.Errorf("%w: the C library is musl: its %s are not read", ErrUnsupported, what)
	}
	return nil
}

// blocks is Supported for thread control blocks, whose fields are known on x86-64.
func (l *Library) blocks() error {
	if err := l.Supported("thread control blocks"); err != nil {
		return err
	}
	if a := l.target.Arch(); a != callbacks.ArchX86_64 {
		return fmt.Errorf("%w: where the fields of thread control blocks lie on %v", ErrUnsupported, a)
	}
	return nil
}

// usable returns the mapping of accessible memory that contains addr; nil without one.
func (l *Library) usable(addr uint64) *callbacks.Mapping {
	return MappingAt(l.mappings(), addr)
}

// MappingAt returns the mapping, of some ascending ones, that contains addr and is accessible; nil
// without one.
func MappingAt(maps []callbacks.Mapping, addr uint64) *callbacks.Mapping {
	i, found := slices.BinarySearchFunc(maps, addr, func(m callbacks.Mapping, a uint64) int {
		switch {
		case a < m.Low.Offset:
			return 1
		case a >= m.High.Offset:
			return -1
		}
		return 0
	})
	if !found || maps[i].Perm == 0 {
		return nil
	}
	return &maps[i]
}

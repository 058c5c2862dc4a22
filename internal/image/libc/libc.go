// Package libc reads structures of a target's C library: mutexes, threads, thread-local storage and the heap.
//
// From a target, its modules and its threads it finds the mutex at an address, the thread with its control
// block around an address, and the stack or the freed block of the heap at an address. It does not interpret
// waits; its callers do.
//
// A process does not contain the version of glibc that laid out its structures. So one table (layouts.go)
// declares the known facts of each version, and a structure is accepted only if its own content confirms it:
// pointers to itself, list links that lead back, thread ids. A failed check is an error with the address and
// the reason.
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

// Kind is the kind of a program's C library.
type Kind uint8

// The kinds of C libraries.
const (
	Unknown Kind = iota // no module has a known name: a static program, or a target without modules
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

// kindOf returns the kind of C library by the names of a program's modules.
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

// isGlibc reports whether a file is glibc itself; before glibc 2.34, its name was libc-2.31.so or similar.
func isGlibc(base string) bool {
	return strings.HasPrefix(base, "libc.so") || strings.HasPrefix(base, "libc-")
}

// Thread is a thread in the C library.
type Thread struct {
	Pthread uint64 // pthread_t: the address of its control block; 0 if unknown
	LWP     uint64 // kernel thread id; 0 for one that the target does not have
}

// Config describes the target of a Library.
type Config struct {
	// Target is the program. Modules and mappings are used if it lists them.
	Target callbacks.Target
	// Threads are the target's threads, and additional ones that an OpenMP runtime knows.
	Threads []Thread
	// PID is the LWP of the process's first thread; 0 if unknown.
	PID uint64
}

// Library is the C library of one stopped target. It reads lazily and caches. One goroutine at a time may use
// it.
type Library struct {
	target   callbacks.Target
	kind     Kind
	modules  []*callbacks.Module
	mappings func() []callbacks.Mapping
	threads  []Thread // ascending by Pthread
	pid      uint64
	stacks   []Stack // of existing threads; nil before the first use
	caches   []Block // threads' own free blocks; nil before the first use
}

// New returns the C library of a target.
func New(c Config) *Library {
	l := &Library{target: c.Target, pid: c.PID, threads: slices.Clone(c.Threads)}
	if lister, ok := c.Target.(callbacks.ModuleLister); ok {
		l.modules, _ = lister.Modules() // modules that were found are listed despite an error
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

// blocks is Supported for thread control blocks. It returns their layout.
func (l *Library) blocks() (blockLayout, error) {
	if err := l.Supported("thread control blocks"); err != nil {
		return blockLayout{}, err
	}
	layout, ok := blockLayouts[l.target.Arch()]
	if !ok {
		return layout, fmt.Errorf("%w: the fields of thread control blocks on %v", ErrUnsupported, l.target.Arch())
	}
	return layout, nil
}

// usable returns the mapping of accessible memory that contains addr; nil without one.
func (l *Library) usable(addr uint64) *callbacks.Mapping {
	return MappingAt(l.mappings(), addr)
}

// MappingAt returns the accessible mapping that contains addr, from an ascending list; nil without one.
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

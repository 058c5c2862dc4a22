package ompd

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Process is the address space of one OpenMP runtime in a target at one stop (ompd_address_space_handle_t). It
// may be used by several goroutines at once.
//
// It has the standard's routines, the routines of the 2013 draft that the standard dropped, and methods that
// return all values of a thread, region, task or variable at once. It implements handles.Runtime.
type Process struct {
	rt       handles.Runtime
	target   callbacks.Target
	session  *session // nil if opened without a Library
	released atomic.Bool
	lwps     func() *targetThreads // made at the first use
	native   func() *nativeThreads // made at the first use
}

var _ handles.Runtime = (*Process)(nil)

// NewProcess returns the address space of runtime rt in target t. Open does so for the runtimes that this module reads.
func NewProcess(rt handles.Runtime, t callbacks.Target) *Process {
	p := &Process{rt: rt, target: t}
	p.lwps = sync.OnceValue(func() *targetThreads { return listThreads(t) })
	p.native = sync.OnceValue(func() *nativeThreads { return matchThreads(p.rt, p.lwps()) })
	return p
}

// Reread returns the address space with the target's current memory, for targets that run between two requests
// without notice. Handles stay valid; their objects are looked up again.
func (p *Process) Reread() (*Process, error) {
	return query(p, "Reread", p, func(rt handles.Runtime, _ *Process) (*Process, error) {
		r, ok := rt.(rtl.Rereader)
		if !ok {
			return nil, fmt.Errorf("%s cannot be read again: %w", rt.Identity().Name, callbacks.Unsupported)
		}
		now, err := r.Reread()
		if err != nil {
			return nil, err
		}
		again := NewProcess(now, p.target)
		again.session = p.session
		return again, nil
	})
}

// String returns the number of the address space and its runtime.
func (p *Process) String() string {
	if p == nil || p.rt == nil {
		return "no address space"
	}
	return fmt.Sprintf("address space %d, %s", p.rt.Stamp().Space, p.rt.Identity().Name)
}

// Identity returns the runtime's name and version.
func (p *Process) Identity() handles.Identity { return p.rt.Identity() }

// Stamp returns the stamp of all handles of this address space.
func (p *Process) Stamp() handles.Stamp { return p.rt.Stamp() }

// Owns reports whether the code address pc belongs to the runtime.
func (p *Process) Owns(pc uint64) bool { return p.rt.Owns(pc) }

// Release is ompd_rel_address_space_handle. There is no memory to release; after it every routine returns
// callbacks.StaleHandle.
func (p *Process) Release() error {
	_, err := query(p, "ompd_rel_address_space_handle", p, func(handles.Runtime, *Process) (bool, error) {
		return p.released.Swap(true), nil
	})
	return err
}

// DeviceInitialize is ompd_device_initialize: it returns the address space of a device other than the host.
// Devices are unsupported: the error is callbacks.Unsupported, or callbacks.BadInput without an identifier.
func (p *Process) DeviceInitialize(kind uint64, id []byte) (*Process, error) {
	return query(p, "ompd_device_initialize", p, func(handles.Runtime, *Process) (*Process, error) {
		if len(id) == 0 {
			return nil, fmt.Errorf("no device identifier: %w", callbacks.BadInput)
		}
		return nil, fmt.Errorf("device of kind %d: only the host is supported: %w", kind, callbacks.Unsupported)
	})
}

// ThreadDevice is ompd_get_device_from_thread: it returns the address space in which a thread executes, always
// this one, the host's.
func (p *Process) ThreadDevice(h handles.Thread) (*Process, error) {
	return query(p, "ompd_get_device_from_thread", h, func(handles.Runtime, handles.Thread) (*Process, error) {
		return p,
			nil
	})
}

// OMPVersion is ompd_get_omp_version: it returns the version of the OpenMP API that the runtime implements, in
// the form of the macro _OPENMP.
func (p *Process) OMPVersion() (int64, error) {
	return query(p, "ompd_get_omp_version", p, func(rt handles.Runtime, _ *Process) (int64, error) {
		if v := rt.Identity().OMPVersion; v != 0 {
			return v, nil
		}
		return 0, fmt.Errorf("the runtime's version of OpenMP was not found: %w", callbacks.Unavailable)
	})
}

// specifications maps dates to versions of OpenMP.
var specifications = map[int64]string{
	200805: "3.0", 201107: "3.1", 201307: "4.0", 201511: "4.5", 201611: "5.0 preview 1",
	201811: "5.0", 202011: "5.1", 202111: "5.2", 202411: "6.0",
}

// OMPVersionString is ompd_get_omp_version_string: it returns a text such as "OpenMP 5.0 preview 1 (201611)".
func (p *Process) OMPVersionString() (string, error) {
	return query(p, "ompd_get_omp_version_string", p, func(handles.Runtime, *Process) (string, error) {
		v, err := p.OMPVersion()
		if err != nil {
			return "", err
		}
		return Specification(v), nil
	})
}

// Specification returns the version of OpenMP with the date in the macro _OPENMP.
func Specification(version int64) string {
	if name, ok := specifications[version]; ok {
		return fmt.Sprintf("OpenMP %s (%d)", name, version)
	}
	return fmt.Sprintf("OpenMP (%d)", version)
}

package ompd

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// ThreadIDKind is a kind of native thread identifier and its size in bytes.
type ThreadIDKind struct {
	Kind callbacks.IDKind
	Size uint64
}

// idSizes lists the sizes in bytes that an identifier of a kind may have, the usual one first. An LWP is a
// pid_t, which debuggers also pass as a long.
var idSizes = map[callbacks.IDKind][]uint64{
	callbacks.ThreadIDPthread: {8},
	callbacks.ThreadIDLWP:     {8, 4},
}

// DecodeID decodes the bytes of an identifier in the C interface. A kind other than pthread and LWP is
// callbacks.Unsupported, a wrong size callbacks.BadInput.
func DecodeID(kind callbacks.IDKind, raw []byte) (callbacks.ThreadID, error) {
	err := checkID(kind, uint64(len(raw)))
	return callbacks.ThreadID{Kind: kind, Value: callbacks.Word(raw)}, err
}

// EncodeID is the reverse of DecodeID, into size bytes.
func EncodeID(id callbacks.ThreadID, size uint64) ([]byte, error) {
	if err := checkID(id.Kind, size); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint64(nil, id.Value)[:size], nil
}

func checkID(kind callbacks.IDKind, size uint64) error {
	sizes, ok := idSizes[kind]
	if !ok {
		return fmt.Errorf("%v: %w", kind, callbacks.Unsupported)
	}
	for _, s := range sizes {
		if s == size {
			return nil
		}
	}
	return fmt.Errorf("%v of %d bytes, not %d: %w", kind, size, sizes[0], callbacks.BadInput)
}

// ThreadIDKinds is ompd_get_device_thread_id_kinds: it lists the kinds of identifiers of this target's threads.
func (p *Process) ThreadIDKinds() ([]ThreadIDKind, error) {
	return query(p, "ompd_get_device_thread_id_kinds", p, func(handles.Runtime, *Process) ([]ThreadIDKind, error) {
		kinds := []ThreadIDKind{{callbacks.ThreadIDPthread, idSizes[callbacks.ThreadIDPthread][0]}}
		if p.lwps().lwpErr == nil {
			kinds = append(kinds, ThreadIDKind{callbacks.ThreadIDLWP, idSizes[callbacks.ThreadIDLWP][0]})
		}
		return kinds, nil
	})
}

// ThreadHandle is ompd_get_thread_handle: it returns the OpenMP thread of the native thread id. If the thread is
// not an OpenMP thread, the error is callbacks.Unavailable; for a kind that the target lacks,
// callbacks.Unsupported.
func (p *Process) ThreadHandle(id callbacks.ThreadID) (handles.Thread, error) {
	return query(p, "ompd_get_thread_handle", p, func(rt handles.Runtime, _ *Process) (handles.Thread, error) {
		h, err := askThread(p, rt, id)
		if err == nil || errors.Is(err, errDisagree) {
			return h, err
		}
		return p.native().find(id)
	})
}

// errDisagree means that a thread and the runtime disagree on the thread's identity.
var errDisagree = fmt.Errorf("the thread and the runtime disagree: %w", callbacks.StaleHandle)

// askThread reads the OpenMP thread from the native thread itself. The runtime's data on the thread must not
// contradict it.
func askThread(p *Process, rt handles.Runtime, id callbacks.ThreadID) (handles.Thread, error) {
	r, ok := rt.(rtl.NativeReader)
	if !ok {
		return handles.Thread{}, callbacks.Unsupported
	}
	h, err := r.NativeThread(p.target, id)
	if err != nil {
		return h, err
	}
	info, err := rt.Thread(h)
	if err == nil && info.Pthread.Value != 0 {
		own, e := p.lwps().id(info, id.Kind)
		if e == nil && own != id {
			err = fmt.Errorf("%v says that it is %v, which the runtime says is %v: %w", id, h, own, errDisagree)
		}
	}
	return h, err
}

// ThreadID is ompd_get_thread_id: it returns the native thread of OpenMP thread h. A kind that the target lacks
// is callbacks.Unsupported.
func (p *Process) ThreadID(h handles.Thread, kind callbacks.IDKind) (callbacks.ThreadID, error) {
	return query(p, "ompd_get_thread_id", h, func(rt handles.Runtime, h handles.Thread) (callbacks.ThreadID, error) {
		info, err := rt.Thread(h)
		if err != nil {
			return callbacks.ThreadID{}, err
		}
		return p.lwps().id(info, kind)
	})
}

// targetThreads is the target's threads, listed once for a stop: the runtime stores pthread_t values, the target
// knows the LWP of each.
type targetThreads struct {
	lwps   map[uint64]uint64 // by pthread_t
	lwpErr error             // the reason why the target's LWPs cannot be matched
}

func listThreads(t callbacks.Target) *targetThreads {
	n := &targetThreads{lwps: map[uint64]uint64{}}
	n.lwpErr = n.add(t)
	return n
}

// nativeThreads matches the target's threads with the runtime's, once for a stop.
type nativeThreads struct {
	*targetThreads
	handles map[callbacks.ThreadID]handles.Thread
	err     error // of unreadable OpenMP threads
}

func matchThreads(rt handles.Runtime, of *targetThreads) *nativeThreads {
	n := &nativeThreads{targetThreads: of, handles: map[callbacks.ThreadID]handles.Thread{}}
	for h, err := range rt.Threads() {
		var info handles.ThreadInfo
		if err == nil {
			info, err = rt.Thread(h)
		}
		if err != nil {
			n.err = errors.Join(n.err, err)
			continue
		}
		for _, kind := range []callbacks.IDKind{callbacks.ThreadIDPthread, callbacks.ThreadIDLWP} {
			id, err := n.id(info, kind)
			if _, taken := n.handles[id]; err == nil && !taken {
				n.handles[id] = h
			}
		}
	}
	return n
}

// add matches LWPs and pthread_t values; the two lists of the target are parallel.
func (n *targetThreads) add(t callbacks.Target) error {
	pthreads, err := t.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil {
		return fmt.Errorf("pthreads of the target: %w", err)
	}
	lwps, err := t.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		return fmt.Errorf("LWPs of the target: %w", err)
	}
	if len(lwps) != len(pthreads) {
		return fmt.Errorf("the target lists %d LWPs but %d pthreads: %w", len(lwps), len(pthreads),
			callbacks.CallbackError)
	}
	for i, id := range pthreads {
		if id.Value != 0 { // a thread whose thread pointer is not yet set, or no longer
			n.lwps[id.Value] = lwps[i].Value
		}
	}
	return nil
}

// find returns the OpenMP thread of native thread id.
func (n *nativeThreads) find(id callbacks.ThreadID) (handles.Thread, error) {
	h, ok := n.handles[id]
	switch {
	case ok:
		return h, nil
	case idSizes[id.Kind] == nil:
		return h, fmt.Errorf("%v: %w", id, callbacks.Unsupported)
	case id.Kind == callbacks.ThreadIDLWP && n.lwpErr != nil:
		return h, fmt.Errorf("%v: %w: %w", id, callbacks.Unsupported, n.lwpErr)
	case n.err != nil:
		return h, fmt.Errorf("%v is none of the OpenMP threads that could be read: %w: %w", id, callbacks.Unavailable,
			n.err)
	}
	return h, fmt.Errorf("%v is not an OpenMP thread: %w", id, callbacks.Unavailable)
}

// id returns the native identifier of an OpenMP thread.
func (n *targetThreads) id(info handles.ThreadInfo, kind callbacks.IDKind) (callbacks.ThreadID, error) {
	switch kind {
	case callbacks.ThreadIDPthread:
		if info.Pthread.Value == 0 {
			return callbacks.ThreadID{}, fmt.Errorf("the thread is being created, its pthread_t is not entered yet: %w",
				callbacks.Unavailable)
		}
		return info.Pthread, nil
	case callbacks.ThreadIDLWP:
		lwp, ok := n.lwps[info.Pthread.Value]
		switch {
		case info.LWP != 0:
			return callbacks.LWP(info.LWP), nil
		case ok:
			return callbacks.LWP(lwp), nil
		case n.lwpErr != nil:
			return callbacks.ThreadID{}, fmt.Errorf("%w: %w", callbacks.Unsupported, n.lwpErr)
		}
		return callbacks.ThreadID{}, fmt.Errorf("%v is none of the target's threads: %w", info.Pthread,
			callbacks.Unavailable)
	}
	return callbacks.ThreadID{}, fmt.Errorf("%v: %w", kind, callbacks.Unsupported)
}

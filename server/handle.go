package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// A handle on the wire has the form
//
// 	TARGET.SPACE.STOP.KIND.ADDRESS.LEVEL.SEAL
//
// The seal uses a key of the session and the number of its Finalize calls, so that invented handles, those of other
// sessions, and those from before Finalize are refused.
// Without it, a handle could read any memory of the target.

// Kinds of handles.
const (
	kindSpace    = "space"
	kindThread   = "thread"
	kindParallel = "parallel"
	kindTask     = "task"
)

// sealBytes is the length of a seal; 64 bits cannot be guessed.
const sealBytes = 8

// handle is a handle on the wire.
type handle struct {
	kind string
	handles.Stamp
	address uint64
	level   uint32
}

func ofThread(h handles.Thread) handle { return handle{kindThread, h.Stamp, h.Info.Offset, 0} }

func ofParallel(h handles.Parallel) handle {
	return handle{kindParallel, h.Stamp, h.Team.Offset, h.Level}
}

func ofTask(h handles.Task) handle { return handle{kindTask, h.Stamp, h.Data.Offset, h.Level} }

func (h handle) thread() handles.Thread {
	return handles.Thread{Stamp: h.Stamp, Info: callbacks.Addr(h.address)}
}

func (h handle) parallel() handles.Parallel {
	return handles.Parallel{Stamp: h.Stamp, Team: callbacks.Addr(h.address), Level: h.level}
}

func (h handle) task() handles.Task {
	return handles.Task{Stamp: h.Stamp, Data: callbacks.Addr(h.address), Level: h.level}
}

// print formats a handle of target t. A zero handle gives "".
func (s *connection) print(t *target, h handle) string {
	if h.address == 0 && h.kind != kindSpace {
		return ""
	}
	body := fmt.Sprintf("%s.%d.%d.%s.%x.%d", t.name, h.Space, h.Epoch, h.kind, h.address, h.level)
	return body + "." + s.seal(body)
}

func (s *connection) seal(body string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write(binary.LittleEndian.AppendUint64([]byte(body), s.uses.Load()))
	return hex.EncodeToString(m.Sum(nil)[:sealBytes])
}

// targetOf returns the name of the target in a handle.
func targetOf(text string) string {
	name, _, _ := strings.Cut(text, ".")
	return name
}

// parse reads a handle of this session. Its errors are callbacks.BadInput for malformed text,
// callbacks.IncompatibleHandle for another kind, and callbacks.StaleHandle for a seal of another session.
func (s *connection) parse(text, kind string) (handle, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 7 {
		return handle{}, fmt.Errorf("%q is not a handle: %w", text, callbacks.BadInput)
	}
	body := text[:strings.LastIndexByte(text, '.')]
	if subtle.ConstantTimeCompare([]byte(s.seal(body)), []byte(parts[6])) != 1 {
		return handle{}, fmt.Errorf("%q is not a handle of this connection since its last Finalize: %w", text,
			callbacks.StaleHandle)
	}
	space, err1 := strconv.ParseUint(parts[1], 10, 16)
	epoch, err2 := strconv.ParseUint(parts[2], 10, 32)
	address, err3 := strconv.ParseUint(parts[4], 16, 64)
	level, err4 := strconv.ParseUint(parts[5], 10, 32)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return handle{}, fmt.Errorf("%q: %w: %w", text, callbacks.BadInput, err)
		}
	}
	h := handle{parts[3], handles.Stamp{Space: uint16(space), Epoch: uint32(epoch)}, address, uint32(level)}
	if h.kind != kind {
		return handle{}, fmt.Errorf("a %s handle, not one of a %s: %w", h.kind, kind, callbacks.IncompatibleHandle)
	}
	return h, nil
}

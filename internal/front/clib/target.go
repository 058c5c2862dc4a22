package clib

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// debugDirs lists the directories of separate debug files of distributions.
var debugDirs = []string{"/usr/lib/debug"}

// maxQuestions bounds the questions to a tool during one routine, so that a damaged program or a wrong callback
// cannot keep it busy for long. A runtime of 10,000 threads takes about half of it.
const maxQuestions = 1 << 17

// maxForeseen bounds a foreseen piece, in bytes: a field of a structure.
const maxForeseen = 256

// errTooMuch ends a routine that asks too many questions.
var errTooMuch = fmt.Errorf("more than %d questions in one routine: the program's data makes no sense: %w",
	maxQuestions, callbacks.Error)

// target is the program of the tool, read through the tool's callbacks.
//
// Memory is read by callback, except for unchangeable content of module files, and bytes that were read since
// the program ran last, if that is known (standing). The modules are found once; the tool's callback for
// symbols is used only if a module's file is missing. The threads are those in the C library's own lists,
// because the interface has no callback for them.
type target struct {
	wire    *wire
	table   *modules.Table // nil until the modules are found
	mapped  []callbacks.Mapping
	threads []libc.Thread // of this routine; nil until they are listed
	asked   int           // questions during this routine
	read    memory        // bytes that were read of the program
	late    error         // of a field that was read later than its structure
	proof   standing
}

// begin forgets the state that may have changed since the previous routine. It reports whether the program is
// known not to have run.
func (t *target) begin() (stood bool) {
	t.asked, t.late = 0, nil
	if t.proof.stood() {
		return true
	}
	t.threads, t.read = nil, memory{}
	return false
}

// ask asks the tool, within the limits of a routine.
func (t *target) ask(q message) (message, error) {
	if t.asked++; t.asked > maxQuestions {
		return message{}, errTooMuch
	}
	return t.wire.ask(q)
}

// close unmaps all files.
func (t *target) close() error {
	if t.table == nil {
		return nil
	}
	return t.table.Close()
}

// findModules finds the modules of the program again.
func (t *target) findModules() error {
	if err := t.close(); err != nil {
		return err
	}
	t.table, t.mapped = nil, nil
	auxv, err := t.auxv()
	if err != nil {
		return err
	}
	t.proof.find(auxv)
	dir, err := os.Getwd() // the debugger's, in which it starts programs
	if err != nil {
		dir = "" // the directory was removed
	}
	facts := modules.Facts{Memory: t, Arch: t.Arch(), Auxv: auxv, Dir: dir}
	t.table = modules.Find(facts, modules.Options{DebugDirs: debugDirs})
	t.mapped = t.table.Segments()
	return nil
}

// Arch returns that of this machine: the library checks that the program's data has its form.
func (t *target) Arch() callbacks.Arch { return arch.Host() }

// ReadMemory fills p from address a.
func (t *target) ReadMemory(a callbacks.Address, p []byte) error {
	for len(p) > 0 {
		n := t.readFile(a, p)
		if n == 0 {
			n = min(len(p), wireBytes)
			if err := t.read.fill(a, p[:n], t.readTool); err != nil {
				return &callbacks.FaultError{Address: a, Err: err}
			}
		}
		a, p = a.Add(uint64(n)), p[n:]
	}
	return nil
}

// ReadLater is ReadMemory for callers that may ignore the error: the routine fails with it.
func (t *target) ReadLater(a callbacks.Address, p []byte) error {
	err := t.ReadMemory(a, p)
	if err != nil && t.late == nil {
		t.late = err
	}
	return err
}

// Foresee requests all of some pieces at once, without the known ones.
func (t *target) Foresee(pieces []callbacks.Piece) {
	var q message
	var asked []callbacks.Piece
	for _, p := range pieces {
		b := make([]byte, min(p.Size, maxForeseen))
		if t.readFile(p.At, b) == len(b) || t.read.contains(p.At, len(b)) {
			continue
		}
		asked = append(asked, callbacks.Piece{At: p.At, Size: uint64(len(b))})
		for _, w := range []uint64{p.At.Segment, p.At.Offset, uint64(len(b))} {
			q.bytes = binary.NativeEndian.AppendUint64(q.bytes, w)
		}
		if len(asked) == wirePieces {
			break
		}
	}
	if len(asked) < 2 { // a single piece is read on demand
		return
	}
	q.kind, q.words[0] = kindReads, uint64(len(asked))
	t.asked += len(asked) - 1
	answer, _ := t.ask(q) // a failed answer may contain the first pieces
	for _, p := range asked[:min(answer.words[1], uint64(len(asked)))] {
		if uint64(len(answer.bytes)) < p.Size {
			return
		}
		t.read.keep(p.At, answer.bytes[:p.Size])
		answer.bytes = answer.bytes[p.Size:]
	}
}

// readFile reads the part of a module's file that the program cannot have changed.
func (t *target) readFile(a callbacks.Address, p []byte) int {
	if t.table == nil || a.Segment != 0 {
		return 0
	}
	piece, ok := t.table.PieceAt(a)
	if !ok || piece.Writable() {
		return 0
	}
	return copy(p, piece.Data)
}

func (t *target) readTool(a callbacks.Address, p []byte) error {
	answer, err := t.ask(message{kind: kindRead, words: [wireWords]uint64{a.Segment, a.Offset, uint64(len(p))}})
	if err != nil {
		return err
	}
	if copy(p, answer.bytes) != len(p) {
		return fmt.Errorf("%w: %d bytes for %d", errLost, len(answer.bytes), len(p))
	}
	return nil
}

// Symbol finds a global symbol.
func (t *target) Symbol(name, file string) (callbacks.Address, error) {
	if t.table != nil {
		a, err := t.table.Symbol(name, file)
		if err == nil || t.hasFiles(file) {
			return a, err
		}
	}
	return t.askSymbol(name, file)
}

// hasFiles reports whether the files of all modules with the path file exist.
func (t *target) hasFiles(file string) bool {
	list, _ := t.table.Modules()
	for _, m := range list {
		if m.Image == nil && m.Path != "[vdso]" && (file == "" || file == m.Path) {
			return false
		}
	}
	return true
}

// askSymbol asks the tool. Some tools return addresses at which there can be no symbol.
func (t *target) askSymbol(name, file string) (callbacks.Address, error) {
	q := message{kind: kindSymbol, bytes: []byte(name + "\x00" + file + "\x00")}
	answer, err := t.ask(q)
	if failed := callbackError(0); errors.As(err, &failed) {
		return callbacks.Address{}, fmt.Errorf("%s: %w: %w", name, callbacks.ErrNoSymbol, err)
	}
	if err != nil {
		return callbacks.Address{}, err
	}
	a := callbacks.Address{Segment: answer.words[1], Offset: answer.words[2]}
	if a.Offset == 0 || a.Offset == ^uint64(0) {
		return callbacks.Address{}, fmt.Errorf("%s at %v: %w", name, a, callbacks.ErrNoSymbol)
	}
	return a, nil
}

// ThreadSymbol finds a thread's own instance of a symbol by the loader's tables.
func (t *target) ThreadSymbol(id callbacks.ThreadID, name, file string) (callbacks.Address, error) {
	th, err := t.thread(id)
	if err != nil {
		return callbacks.Address{}, err
	}
	tp, err := t.table.ThreadPointer(th.Pthread)
	if err != nil {
		return callbacks.Address{}, err
	}
	return t.table.ThreadSymbol(tp, name, file)
}

// listThreads lists the threads, once per call.
func (t *target) listThreads() ([]libc.Thread, error) {
	if t.threads != nil {
		return t.threads, nil
	}
	if t.table == nil {
		return nil, fmt.Errorf("the modules of the program are not known: %w", callbacks.ErrUnsupportedKind)
	}
	var err error
	t.threads, err = t.table.Threads()
	return t.threads, err
}

// ThreadIDs lists the threads.
func (t *target) ThreadIDs(kind callbacks.IDKind) ([]callbacks.ThreadID, error) {
	if kind != callbacks.ThreadIDLWP && kind != callbacks.ThreadIDPthread {
		return nil, fmt.Errorf("%v: %w", kind, callbacks.ErrUnsupportedKind)
	}
	all, err := t.listThreads()
	if err != nil {
		return nil, err
	}
	ids := make([]callbacks.ThreadID, len(all))
	for i, th := range all {
		if ids[i] = callbacks.Pthread(th.Pthread); kind == callbacks.ThreadIDLWP {
			ids[i] = callbacks.LWP(th.LWP)
		}
	}
	return ids, nil
}

// thread finds a thread by either identifier.
func (t *target) thread(id callbacks.ThreadID) (libc.Thread, error) {
	all, err := t.listThreads()
	if err != nil {
		return libc.Thread{}, err
	}
	for _, th := range all {
		if id == callbacks.LWP(th.LWP) || id == callbacks.Pthread(th.Pthread) {
			return th, nil
		}
	}
	return libc.Thread{}, fmt.Errorf("%v: %w", id, callbacks.ErrNoThread)
}

// Modules returns the modules of the program.
func (t *target) Modules() ([]*callbacks.Module, error) {
	if t.table == nil {
		return nil, fmt.Errorf("the modules of the program are not known: %w", callbacks.Unavailable)
	}
	return t.table.Modules()
}

// Mappings returns those of the modules.
func (t *target) Mappings() []callbacks.Mapping { return t.mapped }

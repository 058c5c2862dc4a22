package compare

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// Limits of the helper, which sets them itself, for messages (libompd/compare/compare.c).
const (
	cpuSeconds  = 5
	wallSeconds = 60
	memoryMiB   = 1024
)

// Bounds on the output of the helper: a hostile library can write it.
const (
	maxLine     = 512     // bytes of a line, as in the helper
	maxFacts    = 1 << 18 // 64 threads have some 3,000
	maxRequests = 1 << 21 // callbacks; a walk over 64 threads needs some 20,000
	maxRead     = 1 << 20 // bytes of one read of memory
	maxThreads  = 1 << 16 // as in the helper
)

// Helper is a process that has loaded, or will load, an OMPD library.
type Helper struct {
	library string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	failure error // of an earlier comparison; the process does not work then
	ended   bool
}

// Start starts program, an ompd-compare, which loads the library at path. The process ends with the calling thread,
// so the goroutine keeps its thread until Close.
func Start(program, path string) (*Helper, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, fmt.Errorf("the library to compare with: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the library to compare with: %s is not a file", path)
	}
	h := &Helper{library: path, cmd: exec.Command(program, path)}
	// A library may need its maker's runtime, which is in the same directory.
	h.cmd.Env = []string{"LD_LIBRARY_PATH=" +
		strings.TrimSuffix(filepath.Dir(path)+":"+os.Getenv("LD_LIBRARY_PATH"), ":")}
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReaderSize(out, maxLine)
	runtime.LockOSThread()
	if err := h.cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return h, nil
}

// Close ends the helper.
func (h *Helper) Close() {
	if h.ended {
		return
	}
	h.ended = true
	_ = h.in.Close()
	_ = h.cmd.Process.Kill() // a sandbox can forbid it; the helper ends with its input, or at its limits
	_ = h.cmd.Wait()
	runtime.UnlockOSThread()
}

// Compare asks the library and package ompd about the target. After an error of the library, each further call returns
// the same error.
func (h *Helper) Compare(t callbacks.Target) (*Comparison, error) {
	if h.failure != nil {
		return nil, h.failure
	}
	l, err := newLender(t)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Library: h.library, Runtime: l.process.Identity().Module.Path}
	theirs, err := h.walk(l, c)
	if err != nil {
		h.failure = fmt.Errorf("%s: %w", h.library, err)
		return nil, h.failure
	}
	c.Facts = compareAnswers(askAll(l.process, l.lwps), theirs)
	return c, nil
}

// errOutput is the error of output that the helper itself does not write.
var errOutput = errors.New("the library disturbs the output of its process")

// walk asks the library all questions.
func (h *Helper) walk(l *lender, c *Comparison) (answers, error) {
	var b strings.Builder
	for _, lwp := range l.lwps {
		fmt.Fprintf(&b, "lwp %d\n", lwp.Value)
	}
	// If the process has ended, its output has the reason.
	_, _ = io.WriteString(h.in, b.String()+"walk\n")
	as := answers{}
	for range maxRequests {
		line, err := h.out.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, errOutput
		}
		if err != nil {
			return nil, h.explainEnd()
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch word {
		case "done":
			return as, nil
		case "note":
			c.Version = phrase.Printable(rest)
		case "failed":
			return nil, errors.New(phrase.Printable(rest))
		case "denied":
			return nil, fmt.Errorf("the library made system call %s, which the check does not allow: after it is "+
				"loaded, it may neither open files nor start processes", phrase.Printable(rest))
		case "fact":
			if err := as.parse(rest); err != nil {
				return nil, err
			}
		default:
			rc, data, err := l.serve(word, strings.Fields(rest))
			if err != nil {
				return nil, err
			}
			reply := binary.NativeEndian.AppendUint32(nil, uint32(rc))
			reply = binary.NativeEndian.AppendUint32(reply, uint32(len(data)))
			_, _ = h.in.Write(append(reply, data...))
		}
	}
	return nil, fmt.Errorf("the library made more than %d requests", maxRequests)
}

// parse adds the fact in a line of the helper.
func (as answers) parse(line string) error {
	parts := strings.SplitN(line, "\t", 3)
	if len(parts) != 3 {
		return errOutput
	}
	rc, err := strconv.ParseUint(parts[0], 10, 31)
	if err != nil {
		return errOutput
	}
	if len(as) >= maxFacts {
		return fmt.Errorf("the library has more than %d facts", maxFacts)
	}
	value := parts[2]
	if strings.HasSuffix(parts[1], ": state") {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && int64(handles.State(n)) == n {
			value = handles.State(n).String()
		}
	}
	as.add(parts[1], answer{callbacks.RC(rc), value})
	return nil
}

// explainEnd returns the reason for which the helper ended.
func (h *Helper) explainEnd() error {
	_ = h.in.Close()
	err := h.cmd.Wait()
	h.ended = true
	runtime.UnlockOSThread()
	status, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return fmt.Errorf("the library ended its process: exit status %d", h.cmd.ProcessState.ExitCode())
	}
	switch status.Signal() {
	case unix.SIGSYS:
		return errors.New("the library made a system call that the check does not allow")
	case unix.SIGXCPU, unix.SIGKILL:
		return fmt.Errorf("the library was ended: it used more than %d s of CPU time", cpuSeconds)
	case unix.SIGALRM:
		return fmt.Errorf("the library was ended: it did not answer within %d s", wallSeconds)
	}
	return fmt.Errorf("the library crashed: %w (its memory is limited to %d MiB)", err, memoryMiB)
}

// lender answers the callbacks of a library from a target.
type lender struct {
	target  callbacks.Target
	process *ompd.Process
	lwps    []callbacks.ThreadID
	symbols map[string]callbacks.Address
	local   map[string]bool  // names of symbols that may be thread-local
	numbers map[uint64]int64 // the runtime's numbers of threads, by LWP
}

// lentBase is the base of the addresses at which threads' numbers are lent. No target uses them.
const lentBase = 0xfff0_0000_0000_0000

// noNumber is the runtime's number of a thread that it does not know.
const noNumber = -2

// newLender opens the runtime of a target.
func newLender(t callbacks.Target) (*lender, error) {
	l := &lender{target: t, symbols: map[string]callbacks.Address{}, local: map[string]bool{},
		numbers: map[uint64]int64{}}
	opened, err := extended.Open(t, readers.Options{})
	if len(opened) == 0 {
		return nil, errors.Join(err, errors.New("no OpenMP runtime was read that answers could be compared for"))
	}
	all, _ := readers.RecoverSymbols(t) // a runtime without them can have symbols of its own
	chosen := opened[0]
	var own *rtl.ModuleSymbols
	for i := range all {
		for _, p := range opened {
			if own == nil && p.Identity().Module.Low == all[i].Module.Low {
				chosen, own = p, &all[i]
			}
		}
	}
	l.process = chosen.Process
	for _, e := range chosen.Layout().All() {
		if e.Type == "" && e.Global != 0 && e.Err == nil {
			l.symbols[e.Name] = callbacks.Addr(e.Global)
		}
	}
	if own != nil {
		l.addSymbols(own.Symbols)
	}
	if l.lwps, err = t.ThreadIDs(callbacks.ThreadIDLWP); err != nil {
		return nil, err
	}
	l.lwps = l.lwps[:min(len(l.lwps), maxThreads)]
	for h := range l.process.Threads() {
		info, err := l.process.Thread(h)
		id, err2 := l.process.ThreadID(h, callbacks.ThreadIDLWP)
		if err == nil && err2 == nil {
			l.numbers[id.Value] = info.Number
		}
	}
	return l, nil
}

// addSymbols adds the symbols that were found in a stripped runtime.
func (l *lender) addSymbols(all []rtl.Symbol) {
	for _, s := range all {
		switch {
		case s.Err != nil, s.Kind == rtl.SymbolThread:
			l.local[s.Name] = true // if a library asks for it by thread
		default:
			l.symbols[s.Name] = s.Address
		}
	}
}

// serve answers one callback. It returns an error for a request that the helper does not make.
func (l *lender) serve(kind string, args []string) (callbacks.RC, []byte, error) {
	if len(args) != 2 {
		return 0, nil, errOutput
	}
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return 0, nil, errOutput
	}
	if kind == "symbol" {
		a, err := l.symbol(n, args[1])
		if err != nil {
			return callbacks.Error, nil, nil // a missing symbol is an answer
		}
		return callbacks.OK, binary.NativeEndian.AppendUint64(nil, a), nil
	}
	size, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil || size == 0 || size > maxRead || kind != "read" && kind != "string" {
		return 0, nil, errOutput
	}
	p := make([]byte, size)
	if err := l.read(n, p, kind == "string"); err != nil {
		return callbacks.DeviceReadError, nil, nil // the library learns it
	}
	return callbacks.OK, p, nil
}

// symbol returns the address of a symbol, for a thread (0: none) its own instance. The instance in a stripped runtime
// is lent: it has the number of the thread by our own reader.
func (l *lender) symbol(lwp uint64, name string) (uint64, error) {
	if lwp != 0 {
		a, err := l.target.ThreadSymbol(callbacks.LWP(lwp), name, "")
		if err != nil && l.local[name] {
			return lentBase + lwp*wordBytes, nil
		}
		return a.Offset, err
	}
	if a, ok := l.symbols[name]; ok {
		return a.Offset, nil
	}
	a, err := l.target.Symbol(name, "")
	return a.Offset, err
}

// wordBytes is the largest size of a lent number.
const wordBytes = 8

// read reads memory of the target; text is read up to its end.
func (l *lender) read(a uint64, p []byte, text bool) error {
	if a >= lentBase {
		n, ok := l.numbers[(a-lentBase)/wordBytes]
		if !ok {
			n = noNumber
		}
		copy(p, binary.NativeEndian.AppendUint64(nil, uint64(n)))
		return nil
	}
	if text {
		return extended.ReadText(l.target, callbacks.Addr(a), p)
	}
	return l.target.ReadMemory(callbacks.Addr(a), p)
}

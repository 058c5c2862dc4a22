package delve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

const (
	// maxExamine is the maximal memory in one reply of Delve.
	maxExamine = 1 << 16
	// pageSize is the unit in which memory is mapped, or a fraction of it.
	pageSize = 4096
)

// sight is the program at one snapshot. It reads the target through Delve.
type sight struct {
	p      *Process
	target *remote.Target
	over   atomic.Bool
}

var _ remote.Asker = (*sight)(nil)

// errOver is the cause of failed reads after the end of a look.
var errOver = fmt.Errorf("the look at the program is over: %w", callbacks.StaleHandle)

func (s *sight) close() error { return s.target.Close() }

// Ask answers questions by asking Delve.
func (s *sight) Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	if s.over.Load() {
		return nil, errOver
	}
	out := make([]*ompdv1.Answer, len(questions))
	for i, q := range questions {
		var err error
		switch q := q.GetQuestion().(type) {
		case *ompdv1.Question_Memory:
			out[i], err = s.memory(ctx, q.Memory)
		case *ompdv1.Question_Threads:
			out[i], err = s.threads(ctx)
		case *ompdv1.Question_Symbol:
			out[i], err = s.symbol(ctx, q.Symbol)
		default:
			out[i] = refused(ompdv1.AnswerCode_ANSWER_CODE_UNSUPPORTED, "")
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func refused(code ompdv1.AnswerCode, message string) *ompdv1.Answer {
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Error{Error: &ompdv1.AnswerError{Code: code, Message: message}}}
}

// span is a range of memory and the result of its read.
type span struct {
	Address uint64
	Length  int
	Mem     []byte `json:"-"`
}

// memory returns the readable bytes from the start of each range.
func (s *sight) memory(ctx context.Context, q *ompdv1.MemoryQuestion) (*ompdv1.Answer, error) {
	data, err := s.examine(ctx, q.GetAddress(), int(q.GetSize()))
	if err != nil {
		return nil, err
	}
	a := &ompdv1.MemoryAnswer{Data: data}
	if len(data) < int(q.GetSize()) {
		a.Code = ompdv1.AnswerCode_ANSWER_CODE_UNMAPPED
	}
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: a}}, nil
}

// examine reads memory in the largest parts that Delve supports. As Delve returns a part completely or not at
// all, it reads the first failed part page by page.
func (s *sight) examine(ctx context.Context, at uint64, size int) ([]byte, error) {
	parts, err := s.read(ctx, cut(at, size, maxExamine))
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, part := range parts {
		if part.Mem == nil && part.Length > pageSize-int(part.Address%pageSize) {
			pages, err := s.read(ctx, cut(part.Address, part.Length, pageSize))
			if err != nil {
				return nil, err
			}
			for _, page := range pages {
				if page.Mem == nil {
					break
				}
				out = append(out, page.Mem...)
			}
		}
		if part.Mem == nil {
			break
		}
		out = append(out, part.Mem...)
	}
	return out, nil
}

// cut divides a range at multiples of unit.
func cut(at uint64, size, unit int) []span {
	var out []span
	for size > 0 {
		n := min(size, unit-int(at%uint64(unit)))
		out = append(out, span{Address: at, Length: n})
		at, size = at+uint64(n), size-n
	}
	return out
}

// read reads ranges together. Mem of an unreadable one is nil.
func (s *sight) read(ctx context.Context, spans []span) ([]span, error) {
	type result struct{ Mem []byte }
	results, list := make([]result, len(spans)), make([]request, len(spans))
	for i := range spans {
		list[i] = request{method: "ExamineMemory", in: spans[i], out: &results[i]}
	}
	if err := s.p.conn.calls(ctx, list); err != nil {
		return nil, err
	}
	for i, r := range results {
		if list[i].err == nil && len(r.Mem) == spans[i].Length {
			spans[i].Mem = r.Mem
		}
	}
	return spans, nil
}

// threads returns all threads with their registers.
func (s *sight) threads(ctx context.Context) (*ompdv1.Answer, error) {
	now, err := s.p.state(ctx)
	if err != nil {
		return nil, err
	}
	regs, err := s.registers(ctx, now.Threads...)
	if err != nil {
		return nil, err
	}
	if err := s.calls(ctx, regs); err != nil {
		return nil, err
	}
	out := &ompdv1.ThreadsAnswer{}
	for i, t := range now.Threads {
		n := &ompdv1.NativeThread{Lwp: uint64(t.ID)}
		if regs[i] != nil {
			n.Registers = &regs[i].Registers
		}
		out.Threads = append(out.Threads, n)
	}
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Threads{Threads: out}}, nil
}

// calls adds the current system calls of threads, which Delve does not report: the code before the
// PC shows them.
func (s *sight) calls(ctx context.Context, list []*registers) error {
	var spans []span
	var of []*registers
	for _, r := range list {
		if r == nil {
			continue
		}
		if low, ok := arch.SyscallCodeBefore(r.arch, r.Values); ok {
			spans = append(spans, span{Address: low, Length: arch.SyscallCode})
			of = append(of, r)
		}
	}
	spans, err := s.read(ctx, spans)
	if err != nil {
		return err
	}
	for i, r := range of {
		regs := callbacks.Registers{Arch: r.arch}
		for n, v := range r.Values {
			regs.Set(int(n), v)
		}
		if n, ok := arch.SyscallBefore(&regs, spans[i].Mem); ok {
			r.Syscall = &n
		}
	}
	return nil
}

// registers are the registers of a thread, with the architecture that their names imply.
type registers struct {
	ompdv1.Registers
	arch callbacks.Arch
}

// registers requests the registers of threads together; those of an unreadable thread are nil.
func (s *sight) registers(ctx context.Context, threads ...thread) ([]*registers, error) {
	type result struct{ Regs []register }
	results, list := make([]result, len(threads)), make([]request, len(threads))
	for i, t := range threads {
		list[i] = request{method: "ListRegisters", in: struct{ ThreadID int }{t.ID}, out: &results[i]}
	}
	if err := s.p.conn.calls(ctx, list); err != nil {
		return nil, err
	}
	out := make([]*registers, len(threads))
	for i := range threads {
		if list[i].err == nil {
			out[i] = decode(results[i].Regs)
		}
	}
	return out, nil
}

// register is api.Register.
type register struct {
	Name, Value string
	DwarfNumber int
}

// decode decodes the integer registers and the thread pointer, by Delve's names.
func decode(regs []register) *registers {
	out := &registers{}
	out.Values = map[uint32]uint64{}
	for _, r := range regs {
		text, _, _ := strings.Cut(r.Value, "\t") // an explanation of the flags follows
		v, err := strconv.ParseUint(text, 0, 64)
		switch {
		case err != nil:
		case r.Name == "Fs_base", strings.EqualFold(r.Name, "TPIDR_EL0"):
			out.ThreadPointer = v
		case r.Name == "Rip":
			out.arch = callbacks.ArchX86_64
			out.Values[callbacks.X86RIP] = v
		case r.Name == "PC":
			out.arch = callbacks.ArchAArch64
			out.Values[callbacks.AArch64PC] = v
		case r.DwarfNumber >= 0 && r.DwarfNumber < callbacks.MaxRegister:
			out.Values[uint32(r.DwarfNumber)] = v
		}
	}
	if out.arch == callbacks.ArchUnknown {
		return nil
	}
	return out
}

// maxAuxv bounds the entries of an auxiliary vector; the kernel has about 20.
const maxAuxv = 256

// auxv reads the auxiliary vector at the Go runtime's address of it; nil if the program has no Go
// runtime, or Delve does not know it.
func (s *sight) auxv(ctx context.Context) (map[uint64]uint64, error) {
	var out struct {
		Variable struct {
			Children []struct {
				Addr uint64 `json:"addr"`
			} `json:"children"`
		}
	}
	in := map[string]any{"Scope": map[string]any{"GoroutineID": -1}, "Expr": "runtime.auxv",
		"Cfg": map[string]any{"MaxArrayValues": 1, "MaxVariableRecurse": 1}}
	var f failure
	if err := s.p.conn.call(ctx, "Eval", in, &out); errors.As(err, &f) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if len(out.Variable.Children) == 0 {
		return nil, nil
	}
	data, err := s.examine(ctx, out.Variable.Children[0].Addr, 16*maxAuxv)
	auxv := map[uint64]uint64{}
	for ; len(data) >= 16; data = data[16:] {
		key := callbacks.Word(data[:8])
		if key == 0 {
			break
		}
		auxv[key] = callbacks.Word(data[8:16])
	}
	return auxv, err
}

// symbol returns the address of a global symbol of the dynamic loader, by its file. The search for
// modules needs it without an auxiliary vector; everything else is found in the modules.
func (s *sight) symbol(ctx context.Context, q *ompdv1.SymbolQuestion) (*ompdv1.Answer, error) {
	var libraries struct {
		List []struct {
			Path    string
			Address uint64
		}
	}
	none := refused(ompdv1.AnswerCode_ANSWER_CODE_NO_SYMBOL, "")
	if q.GetLwp() != 0 || q.GetFile() != "" {
		return none, nil
	}
	if err := s.p.conn.call(ctx, "ListDynamicLibraries", struct{}{}, &libraries); err != nil {
		return nil, err
	}
	for _, l := range libraries.List {
		if !strings.HasPrefix(filepath.Base(l.Path), "ld-") {
			continue
		}
		f, closer, err := elfx.OpenPath(filepath.Join(s.p.opts.Sysroot, l.Path))
		if err != nil {
			continue
		}
		symbol, ok := f.LookupDynamic(q.GetName())
		closer.Close()
		if ok {
			return &ompdv1.Answer{Answer: &ompdv1.Answer_Symbol{Symbol: &ompdv1.SymbolAnswer{Address: l.Address +
				symbol.Value}}}, nil
		}
	}
	return none, nil
}

package remote

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// maxAnswer bounds the memory in one answer.
const maxAnswer = maxAsked

// Answer answers a question from a target: the debugger's side, for debuggers in Go.
func Answer(t callbacks.Target, q *ompdv1.Question) *ompdv1.Answer {
	var err error
	switch q := q.GetQuestion().(type) {
	case *ompdv1.Question_Memory:
		return answerMemory(t, q.Memory)
	case *ompdv1.Question_Symbol:
		var a callbacks.Address
		if a, err = answerSymbol(t, q.Symbol); err == nil {
			return &ompdv1.Answer{Answer: &ompdv1.Answer_Symbol{Symbol: &ompdv1.SymbolAnswer{Address: a.Offset}}}
		}
	case *ompdv1.Question_Threads:
		var list []*ompdv1.NativeThread
		if list, err = answerThreads(t); err == nil {
			return &ompdv1.Answer{Answer: &ompdv1.Answer_Threads{Threads: &ompdv1.ThreadsAnswer{Threads: list}}}
		}
	case *ompdv1.Question_Type:
		var a *ompdv1.TypeAnswer
		if a, err = answerType(t, q.Type); err == nil {
			return &ompdv1.Answer{Answer: &ompdv1.Answer_Type{Type: a}}
		}
	case *ompdv1.Question_Mappings:
		if l, ok := t.(callbacks.MappingLister); ok {
			return &ompdv1.Answer{Answer: &ompdv1.Answer_Mappings{Mappings: answerMappings(l)}}
		}
		err = callbacks.Unsupported
	default:
		err = fmt.Errorf("%T: %w", q, callbacks.Unsupported)
	}
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Error{Error: &ompdv1.AnswerError{Code: codeOf(err),
		Message: err.Error()}}}
}

// answerMemory reads as many bytes as possible.
func answerMemory(t callbacks.Target, q *ompdv1.MemoryQuestion) *ompdv1.Answer {
	data := make([]byte, min(q.GetSize(), maxAnswer))
	a := &ompdv1.MemoryAnswer{}
	err := t.ReadMemory(callbacks.Addr(q.GetAddress()), data)
	if err != nil {
		a.Code = codeOf(err)
		var fault *callbacks.FaultError
		n := uint64(0)
		if errors.As(err, &fault) {
			n = min(fault.Address.Offset-q.GetAddress(), uint64(len(data)))
		}
		if data = data[:n]; t.ReadMemory(callbacks.Addr(q.GetAddress()), data) != nil {
			data = nil
		}
	}
	a.Data = data
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: a}}
}

func answerSymbol(t callbacks.Target, q *ompdv1.SymbolQuestion) (callbacks.Address, error) {
	if q.GetLwp() == 0 {
		return t.Symbol(q.GetName(), q.GetFile())
	}
	return t.ThreadSymbol(callbacks.LWP(q.GetLwp()), q.GetName(), q.GetFile())
}

func answerThreads(t callbacks.Target) ([]*ompdv1.NativeThread, error) {
	lwps, err := t.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		return nil, err
	}
	pthreads, err := t.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil && !errors.Is(err, callbacks.ErrUnsupportedKind) {
		return nil, err
	}
	list := make([]*ompdv1.NativeThread, len(lwps))
	for i, id := range lwps {
		list[i] = &ompdv1.NativeThread{Lwp: id.Value, Registers: answerRegisters(t, id)}
		if i < len(pthreads) {
			list[i].Pthread = pthreads[i].Value
		}
	}
	return list, nil
}

// answerRegisters returns the registers of a thread, or nil if they cannot be read.
func answerRegisters(t callbacks.Target, id callbacks.ThreadID) *ompdv1.Registers {
	reader, ok := t.(callbacks.RegisterReader)
	if !ok {
		return nil
	}
	r, err := reader.Registers(id)
	if err != nil {
		return nil
	}
	out := &ompdv1.Registers{Values: map[uint32]uint64{}, ThreadPointer: r.ThreadPointer, PacMask: r.PACMask}
	for n := range callbacks.MaxRegister {
		if v, ok := r.Get(n); ok {
			out.Values[uint32(n)] = v
		}
	}
	if r.Syscall >= 0 {
		out.Syscall = &r.Syscall
	}
	return out
}

func answerType(t callbacks.Target, q *ompdv1.TypeQuestion) (*ompdv1.TypeAnswer, error) {
	y, ok := t.(callbacks.Types)
	if !ok {
		return nil, callbacks.Unsupported
	}
	if q.GetField() == "" {
		size, err := y.TypeSize(q.GetType(), q.GetFile())
		return &ompdv1.TypeAnswer{Size: size}, err
	}
	offset, size, err := y.FieldOffset(q.GetType(), q.GetField(), q.GetFile())
	return &ompdv1.TypeAnswer{Size: size, Offset: offset}, err
}

func answerMappings(l callbacks.MappingLister) *ompdv1.MappingsAnswer {
	a := &ompdv1.MappingsAnswer{}
	for _, m := range l.Mappings() {
		a.Mappings = append(a.Mappings, &ompdv1.Mapping{
			Low: m.Low.Offset, High: m.High.Offset, File: m.File, FileOffset: m.FileOffset,
			Read: m.Perm&callbacks.PermRead != 0, Write: m.Perm&callbacks.PermWrite != 0,
			Exec: m.Perm&callbacks.PermExec != 0,
		})
	}
	return a
}

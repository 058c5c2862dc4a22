package remote

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// liar is a debugger that gives a list of fixed answers to any questions.
type liar struct {
	answers []*ompdv1.Answer
	next    int
}

func (l *liar) Ask(ctx context.Context, questions []*ompdv1.Question) ([]*ompdv1.Answer, error) {
	var out []*ompdv1.Answer
	for range questions {
		a := new(ompdv1.Answer)
		if len(l.answers) > 0 {
			a = l.answers[l.next%len(l.answers)]
			l.next++
		}
		out = append(out, a)
	}
	return out, ctx.Err()
}

// FuzzDebugger reads bytes as the answers of a debugger: all operations of the target must work, and each read
// is complete or a fault.
func FuzzDebugger(f *testing.F) {
	add := func(list ...*ompdv1.Answer) {
		b, err := proto.Marshal(&ompdv1.Answers{Answers: list})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, byte(7))
		f.Add(b, byte(0))
	}
	memory := &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: &ompdv1.MemoryAnswer{Data: make([]byte, 4096)}}}
	regs := &ompdv1.Registers{Values: map[uint32]uint64{7: 0x7000, 16: 0x400000, 1 << 31: 1}}
	thread := &ompdv1.NativeThread{Lwp: 7, Pthread: 0x7000, Registers: regs}
	threads := &ompdv1.Answer{Answer: &ompdv1.Answer_Threads{
		Threads: &ompdv1.ThreadsAnswer{Threads: []*ompdv1.NativeThread{thread, thread, {}}},
	}}
	mapping := &ompdv1.Mapping{Low: 0x1000, High: ^uint64(0), File: "/dev/zero", Read: true, Exec: true}
	maps := &ompdv1.Answer{Answer: &ompdv1.Answer_Mappings{
		Mappings: &ompdv1.MappingsAnswer{Mappings: []*ompdv1.Mapping{mapping, mapping, {}}},
	}}
	symbol := &ompdv1.Answer{Answer: &ompdv1.Answer_Symbol{Symbol: &ompdv1.SymbolAnswer{Address: 0x1000}}}
	add(threads, memory, maps, symbol)
	add(threads, maps, symbol, memory)
	add(&ompdv1.Answer{})
	f.Fuzz(func(t *testing.T, b []byte, powers byte) {
		answers := new(ompdv1.Answers)
		if proto.Unmarshal(b, answers) != nil {
			return
		}
		h := &ompdv1.Hello{About: &ompdv1.Target{Arch: callbacks.ArchX86_64.String(), Executable: "/bin/a"}}
		for i, p := range []ompdv1.Power{withRegisters, withMappings, withTypes} {
			if powers>>i&1 != 0 {
				h.Powers = append(h.Powers, p)
			}
		}
		nothing := &files.Opener{}
		tg, err := New(h, &liar{answers: answers.GetAnswers()}, Options{Open: nothing.Open})
		if err != nil {
			t.Fatal(err)
		}
		defer tg.Close()
		everything(t, tg.InContext(t.Context()))
	})
}

// everything calls all operations of a target.
func everything(t *testing.T, tg callbacks.Target) {
	ids, _ := tg.ThreadIDs(callbacks.ThreadIDLWP)
	tg.ThreadIDs(callbacks.ThreadIDPthread)
	for _, id := range ids[:min(len(ids), 16)] {
		tg.ThreadSymbol(id, "errno", "")
		if r, ok := tg.(callbacks.RegisterReader); ok {
			r.Registers(id)
		}
	}
	if l, ok := tg.(callbacks.ModuleLister); ok {
		l.Modules()
	}
	if l, ok := tg.(callbacks.MappingLister); ok {
		l.Mappings()
	}
	if y, ok := tg.(callbacks.Types); ok {
		y.TypeSize("kmp_info_t", "")
		y.FieldOffset("kmp_info_t", "th", "")
	}
	tg.Symbol("main", "")
	for _, a := range []uint64{0, 0x1000, 0x1ffc, ^uint64(0) - 3} {
		p := make([]byte, 64)
		if err := tg.ReadMemory(callbacks.Addr(a), p); err == nil && a > ^uint64(0)-63 {
			t.Fatalf("64 bytes at %#x", a)
		}
	}
}

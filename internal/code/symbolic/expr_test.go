package symbolic

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

func TestSimplify(t *testing.T) {
	x, g := Leaf(KindArg, 0), Global(0x1000)
	word := Load(g, 4, false)
	for _, tt := range []struct {
		got  *Expr
		want string
	}{
		{Add(Add(x, Constant(8)), Constant(^uint64(7))), "arg0"},
		{Add(Constant(16), g), "global 0x1010"},
		{Add(Constant(2), Constant(^uint64(1))), "0"},
		{Add(binary(lift.OpShl, x, Constant(3)), Add(g, Constant(8))), "global 0x1008+arg0*8"},
		{sub(Add(g, Constant(24)), g), "24"},
		{sub(x, x), "0"},
		{binary(lift.OpXor, x, x), "0"},
		{binary(lift.OpAnd, x, x), "arg0"},
		{binary(lift.OpMul, binary(lift.OpMul, x, Constant(4)), Constant(2)), "arg0*8"},
		{binary(lift.OpAnd, Constant(0xff), word), "(load4(global 0x1000)&0xff)"},
		{binary(lift.OpAnd, word, Constant(^uint64(3))), "(load4(global 0x1000)&0xfffffffc)"},
		{Extend(word, 4, false), "load4(global 0x1000)"},
		{Extend(word, 4, true), "load4s(global 0x1000)"},
		{Extend(Load(g, 8, false), 2, false), "load2(global 0x1000)"},
		{Extend(Extend(x, 4, false), 4, true), "ext4s(arg0)"},
		{Extend(Add(Extend(x, 4, false), Constant(0xffffffff)), 4, false), "ext4(arg0-1)"},
		{
			Extend(binary(lift.OpOr, binary(lift.OpAnd, x, Constant(^uint64(0xff))), Load(g, 1, false)), 1, false),
			"load1(global 0x1000)",
		},
		{Load(Leaf(KindTLSBase, 0), 8, false), "tp"},
		{Load(Constant(0x2000), 8, false), "load8(global 0x2000)"},
		{Compare(Cond{lift.EQ, x, x}), "1"},
		{Compare(Cond{lift.ULT, x, Constant(0)}), "0"},
		{Compare(Cond{lift.NE, word, Constant(0)}), "(load4(global 0x1000) != 0)"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestCanonicalCondition(t *testing.T) {
	x := Leaf(KindArg, 0)
	less := Compare(Cond{lift.LT, x, Constant(5)})
	for want, c := range map[string]Cond{
		"arg0 > 5":   {lift.LT, Constant(5), x},
		"arg0 <=u 5": {lift.UGE, Constant(5), x},
		"arg0 < 5":   {lift.NE, less, Constant(0)},
		"arg0 >= 5":  {lift.EQ, less, Constant(0)},
	} {
		if got := canonical(c).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for op := lift.EQ; op <= lift.UGT; op++ {
		for _, p := range [][2]uint64{{1, 2}, {2, 1}, {3, 3}, {^uint64(0), 1}, {1, ^uint64(0)}} {
			if op.Holds(p[0], p[1]) == op.Negate().Holds(p[0], p[1]) {
				t.Errorf("%v and %v agree on %v", op, op.Negate(), p)
			}
			if op.Holds(p[0], p[1]) != mirrored[op].Holds(p[1], p[0]) {
				t.Errorf("%v and %v differ on %v", op, mirrored[op], p)
			}
		}
	}
}

// TestWeight checks that an expression cannot grow without bound.
func TestWeight(t *testing.T) {
	e := Leaf(KindArg, 0)
	for range 1000 {
		e = node(Expr{Kind: KindBinary, Op: lift.OpXor, A: e, B: Add(e, Constant(1))})
		if e.weight > maxWeight || len(e.String()) > 20*maxWeight {
			t.Fatalf("weight %d, text of %d bytes", e.weight, len(e.String()))
		}
	}
}

func TestChain(t *testing.T) {
	threads := Load(Global(0x1000), 8, false)
	gtid := Extend(Leaf(KindArg, 0), 4, true)
	thread := Load(Add(threads, binary(lift.OpMul, gtid, Constant(8))), 8, false)
	flags := Load(Add(thread, Constant(4)), 4, false)
	for _, tt := range []struct {
		e    *Expr
		mask uint64
	}{
		{flags, 0},
		{binary(lift.OpAnd, binary(lift.OpShr, flags, Constant(1)), Constant(1)), 2},
		{Compare(Cond{lift.NE, binary(lift.OpAnd, flags, Constant(0x30)), Constant(0)}), 0x30},
		{binary(lift.OpShr, flags, Constant(24)), 0xff000000},
		{Extend(binary(lift.OpShr, flags, Constant(8)), 1, false), 0xff00},
	} {
		c, ok := tt.e.Chain()
		if !ok || c.Root.Address != 0x1000 || len(c.Steps) != 3 || c.Steps[1].Index == nil ||
			c.Last().Offset != 4 || c.Mask != tt.mask {
			t.Errorf("%v: chain %+v, want mask %#x", tt.e, c, tt.mask)
		}
	}
	if _, ok := Add(flags, threads).Chain(); ok {
		t.Error("a sum of two loads is a chain")
	}
}

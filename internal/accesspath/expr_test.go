package accesspath

import "testing"

func TestSimplify(t *testing.T) {
	x, g := leaf(kindArg, 0), global(0x1000)
	word := load(g, 4, false)
	for _, tt := range []struct {
		got  *Expr
		want string
	}{
		{add(add(x, constant(8)), constant(^uint64(7))), "arg0"},
		{add(constant(16), g), "global 0x1010"},
		{add(constant(2), constant(^uint64(1))), "0"},
		{add(binary(opShl, x, constant(3)), add(g, constant(8))), "global 0x1008+arg0*8"},
		{sub(add(g, constant(24)), g), "24"},
		{sub(x, x), "0"},
		{binary(opXor, x, x), "0"},
		{binary(opAnd, x, x), "arg0"},
		{binary(opMul, binary(opMul, x, constant(4)), constant(2)), "arg0*8"},
		{binary(opAnd, constant(0xff), word), "(load4(global 0x1000)&0xff)"},
		{binary(opAnd, word, constant(^uint64(3))), "(load4(global 0x1000)&0xfffffffc)"},
		{extend(word, 4, false), "load4(global 0x1000)"},
		{extend(word, 4, true), "load4s(global 0x1000)"},
		{extend(load(g, 8, false), 2, false), "load2(global 0x1000)"},
		{extend(extend(x, 4, false), 4, true), "ext4s(arg0)"},
		{extend(add(extend(x, 4, false), constant(0xffffffff)), 4, false), "ext4(arg0-1)"},
		{extend(binary(opOr, binary(opAnd, x, constant(^uint64(0xff))), load(g, 1, false)), 1, false), "load1(global 0x1000)"},
		{load(leaf(kindTLSBase, 0), 8, false), "tp"},
		{load(constant(0x2000), 8, false), "load8(global 0x2000)"},
		{compare(Cond{EQ, x, x}), "1"},
		{compare(Cond{ULT, x, constant(0)}), "0"},
		{compare(Cond{NE, word, constant(0)}), "(load4(global 0x1000) != 0)"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestCanonicalCondition(t *testing.T) {
	x := leaf(kindArg, 0)
	less := compare(Cond{LT, x, constant(5)})
	for want, c := range map[string]Cond{
		"arg0 > 5":   {LT, constant(5), x},
		"arg0 <=u 5": {UGE, constant(5), x},
		"arg0 < 5":   {NE, less, constant(0)},
		"arg0 >= 5":  {EQ, less, constant(0)},
	} {
		if got := canonical(c).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for op := EQ; op <= UGT; op++ {
		for _, p := range [][2]uint64{{1, 2}, {2, 1}, {3, 3}, {^uint64(0), 1}, {1, ^uint64(0)}} {
			if op.holds(p[0], p[1]) == op.negate().holds(p[0], p[1]) {
				t.Errorf("%v and %v agree on %v", op, op.negate(), p)
			}
			if op.holds(p[0], p[1]) != mirrored[op].holds(p[1], p[0]) {
				t.Errorf("%v and %v differ on %v", op, mirrored[op], p)
			}
		}
	}
}

// TestWeight holds that a value cannot grow without bound.
func TestWeight(t *testing.T) {
	e := leaf(kindArg, 0)
	for range 1000 {
		e = node(Expr{kind: kindBinary, op: opXor, a: e, b: add(e, constant(1))})
		if e.weight > maxWeight || len(e.String()) > 20*maxWeight {
			t.Fatalf("weight %d, text of %d bytes", e.weight, len(e.String()))
		}
	}
}

func TestChain(t *testing.T) {
	threads := load(global(0x1000), 8, false)
	gtid := extend(leaf(kindArg, 0), 4, true)
	thread := load(add(threads, binary(opMul, gtid, constant(8))), 8, false)
	flags := load(add(thread, constant(4)), 4, false)
	for _, tt := range []struct {
		e    *Expr
		mask uint64
	}{
		{flags, 0},
		{binary(opAnd, binary(opShr, flags, constant(1)), constant(1)), 2},
		{compare(Cond{NE, binary(opAnd, flags, constant(0x30)), constant(0)}), 0x30},
		{binary(opShr, flags, constant(24)), 0xff000000},
		{extend(binary(opShr, flags, constant(8)), 1, false), 0xff00},
	} {
		c, ok := tt.e.Chain()
		if !ok || c.Root.Address != 0x1000 || len(c.Steps) != 3 || c.Steps[1].Index == nil || c.Last().Offset != 4 || c.Mask != tt.mask {
			t.Errorf("%v: chain %+v, want mask %#x", tt.e, c, tt.mask)
		}
	}
	if _, ok := add(flags, threads).Chain(); ok {
		t.Error("a sum of two loads is a chain")
	}
}

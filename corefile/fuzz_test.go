package corefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// FuzzOpenCore opens cores with arbitrary changes. Open returns a core or an error and never
// panics; every read is complete or a fault.
func FuzzOpenCore(f *testing.F) {
	if !testing.Short() {
		for _, flags := range [][]string{nil, {"-static"}} {
			b := trim(f, runPlain(f, "abort", flags...))
			f.Add(b)
			c := open(f, writeCore(f, b), Options{})
			if _, err := c.Symbol("main", ""); err != nil || len(c.threads) != 2 {
				f.Fatalf("a trimmed core is no use: %d threads, %v", len(c.threads), err)
			}
		}
	}
	name := filepath.Join(f.TempDir(), "core")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Open(name, Options{MaxUnpacked: 64 << 20})
		if (c == nil) == (err == nil) {
			t.Fatalf("core %v and error %v", c, err)
		}
		if c == nil {
			return
		}
		defer c.Close()
		exercise(t, c)
	})
}

// exercise calls every method of a core.
func exercise(t *testing.T, c *Core) {
	c.Info()
	mods, _ := c.Modules()
	for _, name := range []string{"main", "malloc", "_r_debug"} {
		c.Symbol(name, "")
	}
	addrs := []uint64{0, 1 << 20, ^uint64(0) - 4}
	for _, m := range mods {
		addrs = append(addrs, m.Low.Offset, m.High.Offset-4, m.High.Offset)
	}
	for _, m := range c.Mappings() {
		addrs = append(addrs, m.Low.Offset, m.High.Offset-4)
	}
	ids, _ := c.ThreadIDs(callbacks.ThreadIDLWP)
	c.ThreadIDs(callbacks.ThreadIDPthread)
	for _, id := range ids {
		if a, err := c.ThreadSymbol(id, "mine", ""); err == nil {
			addrs = append(addrs, a.Offset)
		}
		regs, err := c.Registers(id)
		if err != nil {
			t.Errorf("registers of %v: %v", id, err)
		}
		addrs = append(addrs, regs.SP(), regs.PC())
	}
	for _, a := range addrs[:min(len(addrs), 1000)] {
		var fault *callbacks.FaultError
		b := make([]byte, 16)
		if err := c.ReadMemory(callbacks.Addr(a), b); err != nil &&
			(!errors.As(err, &fault) || fault.Address.Offset-a >= 16) {
			t.Errorf("read at %#x: %v", a, err)
		}
	}
}

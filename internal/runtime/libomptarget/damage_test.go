package libomptarget

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

// recorder records the addresses of the words that are read from a core.
type recorder struct {
	*rtltest.Damaged
	read []uint64
}

func (r *recorder) ReadMemory(a callbacks.Address, p []byte) error {
	for i := uint64(0); i+wordSize <= uint64(len(p)) && len(p) > wordSize; i += wordSize {
		r.read = append(r.read, a.Offset+i)
	}
	return r.Damaged.ReadMemory(a, p)
}

// maxReads bounds the reads of a damaged map: each of its nodes needs some.
const maxReads = 1 << 16

// step selects one of some words: the map has many that are alike. It is odd, as the sizes of the structures are not.
const step = 23

// TestDamagedMap replaces words that are read by others: the answer is an error, or has as many devices and mappings.
func TestDamagedMap(t *testing.T) {
	for _, major := range []int{14, 16, 19, 22} {
		core, tr := dump(t, major)
		modules, err := core.Modules()
		if err != nil {
			t.Fatal(err)
		}
		library := Find(core, modules)[0]
		whole := &recorder{Damaged: &rtltest.Damaged{Core: core}}
		good, err := Read(whole, library, modules)
		if err != nil || len(good) != tr.devices {
			t.Fatalf("%d devices: %v", len(good), err)
		}
		slices.Sort(whole.read)
		all, words := slices.Compact(whole.read), []uint64(nil)
		for i := 0; i < len(all); i += step {
			words = append(words, all[i])
		}
		refused := 0
		for _, at := range words {
			b := make([]byte, wordSize)
			if core.ReadMemory(callbacks.Addr(at), b) != nil {
				continue
			}
			value := callbacks.Word(b)
			for _, bad := range []uint64{0, 1, ^uint64(0), at, value + wordSize, value ^ 1<<40} {
				d := &rtltest.Damaged{Core: core}
				d.Put(at, bad, wordSize)
				got, err := Read(d, library, modules)
				if d.Reads > maxReads {
					t.Fatalf("%d: %d reads with %#x at %#x", major, d.Reads, bad, at)
				}
				if err != nil {
					refused++
					continue
				}
				for i, one := range got {
					switch {
					case one.Err != nil:
						refused++
					case i >= len(good) || len(one.Mapped) != len(good[i].Mapped):
						t.Errorf("%d: with %#x at %#x instead of %#x, device %d has %d mappings", major, bad, at, value,
							i, len(one.Mapped))
					}
				}
			}
		}
		t.Logf("%d: %d words, %d refused", major, len(words), refused)
		if refused < len(words)/2 {
			t.Errorf("%d: of damage to %d words, %d was refused", major, len(words), refused)
		}
	}
}

// TestDamagedFields replaces fields of structures. One check guards each field.
func TestDamagedFields(t *testing.T) {
	core, _ := dump(t, 16)
	modules, err := core.Modules()
	if err != nil {
		t.Fatal(err)
	}
	library := Find(core, modules)[0]
	r := &reader{core, library, modules, formOf(core, library), maxMappings}
	list, count, err := r.list()
	if err != nil || count < 3 {
		t.Fatalf("%d devices: %v", count, err)
	}
	at := func(a uint64) uint64 {
		b := make([]byte, wordSize)
		if err := core.ReadMemory(callbacks.Addr(a), b); err != nil {
			t.Fatal(err)
		}
		return callbacks.Word(b)
	}
	device := at(list)
	header := uint64(0)
	for i := uint64(2); header == 0; i++ {
		root := at(device + (i+1)*wordSize)
		if root%wordSize == 0 && root > 1<<16 && at(root+wordSize) == device+i*wordSize {
			header = device + i*wordSize
		}
	}
	root := at(header + wordSize)
	entry := at(root + 5*wordSize)
	states := at(entry + 5*wordSize)
	for name, c := range map[string]struct {
		at, value uint64
	}{
		"number of the device":       {device, 1},
		"plugin":                     {device + wordSize, 0},
		"number of entries":          {header + 4*wordSize, at(header+4*wordSize) - 1},
		"too many entries":           {header + 4*wordSize, maxMappings + 1},
		"first entry":                {header + 2*wordSize, root + 8},
		"parent":                     {root + wordSize, root},
		"circle":                     {at(header+2*wordSize) + 2*wordSize, root},
		"key":                        {root + 4*wordSize, at(root+4*wordSize) + 1},
		"end before the start":       {entry + 2*wordSize, at(entry+wordSize) - 1},
		"reference counts":           {entry + 5*wordSize, 0},
		"huge reference count":       {states, 1 << 40},
		"device's pointer":           {list, 8},
		"order of the host's ranges": {at(at(header+2*wordSize)+5*wordSize) + wordSize, ^uint64(0) - 8},
	} {
		d := &rtltest.Damaged{Core: core}
		d.Put(c.at, c.value, wordSize)
		devices, err := Read(d, library, modules)
		if err == nil && devices[0].Err == nil {
			t.Errorf("%s: damage is not noticed", name)
		}
	}
}

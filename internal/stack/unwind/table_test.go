package unwind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// writer builds tables.
type writer struct{ b []byte }

func (w *writer) u8(v ...byte)   { w.b = append(w.b, v...) }
func (w *writer) u16(v uint16)   { w.b = binary.LittleEndian.AppendUint16(w.b, v) }
func (w *writer) u32(v uint32)   { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64)   { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) text(s string)  { w.b = append(append(w.b, s...), 0) }
func (w *writer) offset() uint64 { return uint64(len(w.b)) }
func (w *writer) number(f byte, v uint64) {
	switch formatSize(f & peFormat) {
	case 2:
		w.u16(uint16(v))
	case 4:
		w.u32(uint32(v))
	case 8:
		w.u64(v)
	default:
		w.u8(byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)|0x80, byte(v>>21)&0x7f)
	}
}

// entry writes a length and the output of body.
func (w *writer) entry(wide bool, body func(w *writer)) {
	if wide {
		w.u32(0xffffffff)
		w.u64(0)
	} else {
		w.u32(0)
	}
	begin := w.offset()
	body(w)
	for w.offset()%8 != 0 {
		w.u8(cfaNop)
	}
	if wide {
		binary.LittleEndian.PutUint64(w.b[begin-8:], w.offset()-begin)
	} else {
		binary.LittleEndian.PutUint32(w.b[begin-4:], uint32(w.offset()-begin))
	}
}

// Addresses and contents of the tables in these tests.
const (
	tableAt  = 0x10000
	funcLow  = 0x4000
	funcSize = 0x100
)

// ehTable returns an .eh_frame with one function, with a CIE of the given augmentation and data. enc is the
// encoding of its addresses.
func ehTable(augmentation string, data []byte, enc byte, wide bool) []byte {
	w := &writer{}
	id := func(w *writer, v uint64) {
		if wide {
			w.u64(v)
		} else {
			w.u32(uint32(v))
		}
	}
	w.entry(wide, func(w *writer) {
		id(w, 0)
		w.u8(1)
		w.text(augmentation)
		if augmentation == "eh" {
			w.u64(0x1234)
		}
		w.u8(1, 0x78, 16)
		if augmentation != "" && augmentation[0] == 'z' {
			w.u8(byte(len(data)))
			w.u8(data...)
		}
		w.u8(start...)
	})
	w.entry(wide, func(w *writer) {
		id(w, w.offset())
		low := uint64(funcLow)
		switch enc & peBase {
		case pePCRel:
			low -= tableAt + w.offset()
		case peDataRel:
			low -= tableAt
		}
		w.number(enc, low)
		w.number(enc, funcSize)
		if augmentation != "" && augmentation[0] == 'z' {
			w.u8(0)
		}
		w.u8(cfaAdvanceLoc|4, cfaDefCFAOffset, 16)
	})
	w.u32(0)
	return w.b
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		name         string
		augmentation string
		data         []byte
		enc          byte
		wide         bool
	}{
		{"none", "", nil, peAbsolute, false},
		{"old GCC", "eh", nil, peAbsolute, false},
		{"gcc", "zR", []byte{pePCRel | peSData4}, pePCRel | peSData4, false},
		{"large", "zR", []byte{pePCRel | peSData8}, pePCRel | peSData8, false},
		{"c++", "zPLR", []byte{pePCRel | peSData4 | peIndirect, 1, 2, 3, 4, pePCRel | peSData4, pePCRel | peSData4},
			pePCRel | peSData4, false},
		{"pac", "zRB", []byte{pePCRel | peSData4}, pePCRel | peSData4, false},
		{"mte", "zRG", []byte{pePCRel | peSData4}, pePCRel | peSData4, false},
		{"unknown at the end", "zRX", []byte{pePCRel | peSData4, 9}, pePCRel | peSData4, false},
		{"datarel", "zR", []byte{peDataRel | peSData4}, peDataRel | peSData4, false},
		{"udata2", "zR", []byte{peUData2}, peUData2, false},
		{"udata4", "zR", []byte{peUData4}, peUData4, false},
		{"uleb", "zR", []byte{peULEB}, peULEB, false},
		{"64-bit", "zR", []byte{pePCRel | peSData4}, pePCRel | peSData4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := ehTable(c.augmentation, c.data, c.enc, c.wide)
			tab := newTable(memorySlice{tableAt, data}, bases{data: tableAt})
			tab.start, tab.end = tableAt, tableAt+uint64(len(data))
			checkFunction(t, tab)
		})
	}
}

// checkFunction checks that tab has the one function of these tests.
func checkFunction(t *testing.T, tab *table) {
	t.Helper()
	for pc, want := range map[uint64]string{
		funcLow - 1: "", funcLow: "r7+8 16=c-8", funcLow + 3: "r7+8 16=c-8", funcLow + 4: "r7+16 16=c-8",
		funcLow + funcSize - 1: "r7+16 16=c-8", funcLow + funcSize: "",
	} {
		f, err := tab.lookup(pc)
		if err != nil {
			t.Fatalf("%#x: %v", pc, err)
		}
		got := ""
		if f != nil {
			r, err := f.makeRow(pc, callbacks.ArchX86_64)
			if err != nil {
				t.Fatalf("%#x: %v", pc, err)
			}
			got = showRow(r)
		}
		if got != want {
			t.Errorf("%#x: %q, want %q", pc, got, want)
		}
	}
}

func TestIndirect(t *testing.T) {
	data := ehTable("zR", []byte{peAbsolute | peIndirect}, peAbsolute|peIndirect, false)
	fde := len(data) - 8
	for fde > 0 && binary.LittleEndian.Uint64(data[fde:]) != funcLow {
		fde--
	}
	binary.LittleEndian.PutUint64(data[fde:], tableAt+uint64(len(data)))
	tab := newTable(memorySlice{tableAt, binary.LittleEndian.AppendUint64(data, funcLow)}, bases{})
	tab.start, tab.end = tableAt, tableAt+uint64(len(data))
	checkFunction(t, tab)
}

func TestDebugFrame(t *testing.T) {
	for _, version := range []byte{1, 3, 4} {
		for _, wide := range []bool{false, true} {
			t.Run(fmt.Sprint(version, wide), func(t *testing.T) {
				w := &writer{}
				mark := func(w *writer, narrow uint32, v uint64) {
					if wide {
						w.u64(v)
					} else {
						w.u32(narrow)
					}
				}
				w.entry(wide, func(w *writer) {
					mark(w, 0xffffffff, ^uint64(0))
					w.u8(version, 0)
					if version == 4 {
						w.u8(8, 0)
					}
					w.u8(1, 0x78, 16)
					w.u8(start...)
				})
				w.entry(wide, func(w *writer) {
					mark(w, 0, 0)
					w.u64(funcLow)
					w.u64(funcSize)
					w.u8(cfaAdvanceLoc|4, cfaDefCFAOffset, 16)
				})
				tab := newTable(memorySlice{data: w.b}, bases{})
				tab.debugFrame, tab.end = true, w.offset()
				checkFunction(t, tab)
			})
		}
	}
}

// ehHeader returns an .eh_frame_hdr before frame. Its table has entries in format.
func ehHeader(frame []byte, format byte, more int) []byte {
	const room = 256 // for the header
	w := &writer{}
	w.u8(1, pePCRel|peSData4, peUData4, format)
	w.u32(room - 4)
	w.u32(uint32(1 + 2*more))
	base := uint64(0)
	if format&peBase == peDataRel {
		base = tableAt
	}
	add := func(low, addr uint64) {
		w.number(format, low-base)
		w.number(format, addr-base)
	}
	fde := tableAt + room + 4 + uint64(binary.LittleEndian.Uint32(frame))
	for i := range more {
		add(uint64(funcLow-0x100*(more-i)), 0)
	}
	add(funcLow, fde)
	for i := range more {
		add(uint64(funcLow+funcSize*(i+1)), 0)
	}
	for w.offset() < room {
		w.u8(0)
	}
	return append(w.b, frame...)
}

func TestHeader(t *testing.T) {
	frame := ehTable("zR", []byte{peUData4}, peUData4, false)
	for _, format := range []byte{peDataRel | peSData4, peDataRel | peSData8, peUData4, peUData8, peDataRel | peULEB,
		peOmit} {
		for _, more := range []int{0, 1, 4} {
			data := ehHeader(frame, format, min(more, 4))
			if formatSize(format&peFormat) == 0 {
				data = ehHeader(frame, format|peULEB, 0)
				data[3] = format
			}
			tab, err := ehFrame(memorySlice{tableAt, data}, tableAt, 256)
			if err != nil {
				t.Fatal(err)
			}
			tab.end = tableAt + uint64(len(data))
			f, err := tab.lookup(funcLow + 5)
			if err != nil || f == nil || f.low != funcLow || f.high != funcLow+funcSize {
				t.Errorf("format %#x, %d others: %+v, %v", format, more, f, err)
			}
		}
	}
}

func TestHeaderLies(t *testing.T) {
	frame := ehTable("zR", []byte{peUData4}, peUData4, false)
	data := ehHeader(frame, peDataRel|peSData4, 0)
	binary.LittleEndian.PutUint32(data[8:], 1<<31) // number of entries
	tab, err := ehFrame(memorySlice{tableAt, data}, tableAt, 256)
	if err != nil {
		t.Fatal(err)
	}
	if most := uint64(256 / 8); tab.index.n > most {
		t.Errorf("%d entries in 256 bytes", tab.index.n)
	}
	data[0] = 2
	if _, err = ehFrame(memorySlice{tableAt, data}, tableAt, 256); !errors.Is(err, ErrUnsupported) {
		t.Errorf("version 2: %v", err)
	}
	if _, err = ehFrame(memorySlice{tableAt, data}, tableAt, 3); !errors.Is(err, ErrDamaged) &&
		!errors.Is(err, ErrUnsupported) {
		t.Errorf("3 bytes: %v", err)
	}
}

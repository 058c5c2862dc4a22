package pycode

import (
	"encoding/binary"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Bounds on dictionaries.
const (
	// maxSlots bounds the hash table of a dictionary. sys.modules of the largest programs has some ten thousand keys.
	maxSlots = 1 << 20
	// maxProbes bounds the slots that the search of one key reads. Tables are at most two thirds full.
	maxProbes = 64
)

// Offsets in a dictionary (PyDictObject), after the header of the object. Source: cpython/dictobject.h, the same in
// 3.7 to 3.15.
const (
	dictKeys   = 16 // struct _dictkeysobject
	dictValues = 24 // 0 if the values are in the table of keys
	dictSize   = 32
)

// Offsets in a table of keys (struct _dictkeysobject), up to 3.10 and later. Sources: Objects/dict-common.h,
// pycore_dict.h.
const (
	oldKeysSlots   = 8 // number of slots
	oldKeysEntries = 32
	oldKeysSize    = 40

	keysLogSlots   = 8  // byte: logarithm of the number of slots
	keysLogIndices = 9  // byte: logarithm of the bytes of all slots
	keysKind       = 10 // byte
	keysEntries    = 24
	keysSize       = 32

	// keysGeneral is the kind of tables with keys of any type: their entries have the hash in front of the key. Up to
	// 3.10, all tables are so.
	keysGeneral = 0
	maxKeysKind = 2 // DICT_KEYS_SPLIT
)

// dict is a dictionary.
type dict struct {
	keys   keyTable
	values uint64 // address of the first value; 0 if the values are in the table of keys
}

// keyTable is the hash table of a dictionary, which instances of a class share: slots with indexes of entries, and
// the entries.
type keyTable struct {
	slots, slotSize              uint64
	indices                      uint64 // address of the first slot
	entries                      uint64 // address of the first entry
	count                        uint64 // entries in use
	entrySize, keyPart, hashPart uint64 // bytes of an entry, and the offset of its key; hashPart is 0 without a hash
}

// dict reads a dictionary.
func (p *Runtime) dict(at uint64) (dict, error) {
	header := p.header()
	b := make([]byte, header+dictSize)
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return dict{}, fmt.Errorf("reading a dictionary: %w", err)
	}
	if err := p.checkType(b, p.types.dict, "dictionary", at); err != nil {
		return dict{}, err
	}
	keys, err := p.keyTable(word(b, header+dictKeys))
	d := dict{keys: keys, values: word(b, header+dictValues)}
	if d.values != 0 {
		d.values += p.valuesHeader()
	}
	return d, err
}

// header returns the size of the header of an object.
func (p *Runtime) header() uint64 { return p.l.objectType + 8 }

// valuesHeader returns the size of the header of an array of values (struct _dictvalues).
func (p *Runtime) valuesHeader() uint64 {
	if p.l.minor >= 13 {
		return 8
	}
	return 0
}

// keyTable returns a table of keys.
func (p *Runtime) keyTable(at uint64) (keyTable, error) {
	if t, ok := p.tables[at]; ok {
		return t, nil
	}
	t, err := p.readKeyTable(at)
	if err == nil {
		p.tables[at] = t
	}
	return t, err
}

// readKeyTable reads the header of a table of keys.
func (p *Runtime) readKeyTable(at uint64) (keyTable, error) {
	b := make([]byte, oldKeysSize)
	if p.l.minor >= 11 {
		b = b[:keysSize]
	}
	if err := p.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return keyTable{}, fmt.Errorf("reading the keys of a dictionary: %w", err)
	}
	t := keyTable{slots: word(b, oldKeysSlots), count: word(b, oldKeysEntries), indices: at + oldKeysSize, slotSize: 8,
		entrySize: 24, keyPart: 8, hashPart: 8}
	kind := byte(keysGeneral)
	if p.l.minor >= 11 {
		logSlots, logIndices := b[keysLogSlots], b[keysLogIndices]
		if logIndices < logSlots || logIndices > logSlots+3 || logSlots > 31 {
			return keyTable{}, fmt.Errorf("the keys at %#x have 2^%d slots in 2^%d bytes: %w", at, logSlots, logIndices,
				ErrDamaged)
		}
		t.slots, t.slotSize = 1<<logSlots, 1<<(logIndices-logSlots)
		t.count, t.indices, kind = word(b, keysEntries), at+keysSize, b[keysKind]
	} else if t.slots <= 0xff {
		t.slotSize = 1
	} else if t.slots <= 0xffff {
		t.slotSize = 2
	} else {
		t.slotSize = 4
	}
	if t.slots == 0 || t.slots&(t.slots-1) != 0 || t.slots > maxSlots || t.count > t.slots || kind > maxKeysKind {
		return keyTable{}, fmt.Errorf("the keys at %#x have %d slots, %d entries and kind %d: %w", at, t.slots, t.count,
			kind, ErrDamaged)
	}
	t.entries = t.indices + t.slots*t.slotSize
	if kind != keysGeneral {
		t.entrySize, t.keyPart, t.hashPart = 16, 0, 0
	}
	return t, nil
}

// item returns the value of a text key of a dictionary; 0 without one.
func (p *Runtime) item(d dict, key string) (uint64, error) {
	i, ok, err := p.find(d.keys, key)
	if err != nil || !ok {
		return 0, err
	}
	if d.values != 0 {
		return p.word(d.values + 8*i)
	}
	return p.word(d.keys.entries + i*d.keys.entrySize + d.keys.keyPart + 8)
}

// keyPlace is a key in a table.
type keyPlace struct {
	table uint64
	key   string
}

// find returns the index of the entry with a text key. Instances of a class share a table, so the index is kept.
func (p *Runtime) find(t keyTable, key string) (uint64, bool, error) {
	if i, ok := p.places[keyPlace{t.indices, key}]; ok {
		return i, true, nil
	}
	i, ok, err := p.search(t, key)
	if ok && err == nil {
		p.places[keyPlace{t.indices, key}] = i
	}
	return i, ok, err
}

// search searches a table for a text key, as CPython does (Objects/dictobject.c).
func (p *Runtime) search(t keyTable, key string) (uint64, bool, error) {
	hash, err := p.hash(key)
	if err != nil {
		return 0, false, err
	}
	const perturbShift = 5
	slot, perturb := hash&(t.slots-1), hash
	for range maxProbes {
		i, err := p.slot(t, slot)
		if err != nil {
			return 0, false, err
		}
		const empty, deleted = -1, -2
		switch {
		case i == empty:
			return 0, false, nil
		case i == deleted:
		case i < 0 || uint64(i) >= t.count:
			return 0, false, fmt.Errorf("the keys at %#x have entry %d of %d: %w", t.indices, i, t.count, ErrDamaged)
		default:
			if equal, err := p.isKey(t, uint64(i), hash, key); equal || err != nil {
				return uint64(i), equal, err
			}
		}
		perturb >>= perturbShift
		slot = (slot*5 + perturb + 1) & (t.slots - 1)
	}
	return 0, false, fmt.Errorf("the keys at %#x have more than %d collisions: %w", t.indices, maxProbes, ErrDamaged)
}

// slot returns the content of a slot: the index of an entry, or a negative number.
func (p *Runtime) slot(t keyTable, i uint64) (int64, error) {
	b := make([]byte, t.slotSize)
	if err := p.mem.ReadMemory(callbacks.Addr(t.indices+i*t.slotSize), b); err != nil {
		return 0, fmt.Errorf("reading the keys of a dictionary: %w", err)
	}
	switch t.slotSize {
	case 1:
		return int64(int8(b[0])), nil
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b))), nil
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), nil
	}
	return int64(binary.LittleEndian.Uint64(b)), nil
}

// isKey reports whether an entry has a text key.
func (p *Runtime) isKey(t keyTable, i, hash uint64, key string) (bool, error) {
	b := make([]byte, t.keyPart+8)
	if err := p.mem.ReadMemory(callbacks.Addr(t.entries+i*t.entrySize), b); err != nil {
		return false, fmt.Errorf("reading a key of a dictionary: %w", err)
	}
	at := word(b, t.keyPart)
	if at == 0 || t.hashPart != 0 && word(b, 0) != hash {
		return false, nil
	}
	head := make([]byte, p.l.textOther)
	if err := p.mem.ReadMemory(callbacks.Addr(at), head); err != nil {
		return false, fmt.Errorf("reading a key of a dictionary: %w", err)
	}
	if word(head, p.l.objectType) != p.types.text || word(head, p.l.textLength) != uint64(len(key)) {
		return false, nil
	}
	text, err := p.text(at)
	return text == key, err
}

// hash returns the hash of a text of ASCII characters: SipHash with the interpreter's key (Python/pyhash.c).
func (p *Runtime) hash(text string) (uint64, error) {
	if p.secret == nil {
		var b [16]byte
		if err := p.mem.ReadMemory(callbacks.Addr(p.secretAt), b[:]); err != nil {
			return 0, fmt.Errorf("reading the key of hashes: %w", err)
		}
		p.secret = &[2]uint64{word(b[:], 0), word(b[:], 8)}
	}
	rounds := 1
	if p.l.minor < 11 {
		rounds = 2
	}
	hash := sipHash(p.secret[0], p.secret[1], []byte(text), rounds)
	if hash == ^uint64(0) { // an error in CPython
		hash--
	}
	return hash, nil
}

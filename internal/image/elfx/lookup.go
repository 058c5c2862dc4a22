package elfx

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// maxChain bounds the symbols searched in one hash bucket, so that a damaged table cannot make a lookup slow.
// Real chains have under 20.
const maxChain = 1 << 14

// maxNames bounds the total size of the names of a symbol table, in bytes; a shared name counts for each entry.
// The largest programs have a million symbols of a hundred bytes.
const maxNames = 512 << 20

// maxProbe bounds the slots of the name index searched for one name, for the same reason.
const maxProbe = 1 << 9

// Lookup finds the definition of a symbol: among the dynamic symbols, through the file's own hash table and
// with the default version, and then in .symtab, global symbols before local ones. It takes less than a
// microsecond, except for the first searches of a .symtab: they read each entry, before an index is built.
func (f *File) Lookup(name string) (Symbol, bool) {
	if s, ok := f.LookupDynamic(name); ok {
		return s, true
	}
	return f.LookupStatic(name)
}

// LookupStatic finds the definition of a symbol in .symtab only. Use it for files of separate debug
// information, whose other tables are empty.
func (f *File) LookupStatic(name string) (Symbol, bool) {
	t, err := f.symtab()
	if err != nil || name == "" {
		return Symbol{}, false
	}
	if r, ok := f.searched.Load(name); ok {
		return r.(searchResult).symbol, r.(searchResult).found
	}
	if f.searches.Add(1) > fewSearches {
		return f.index().lookup(name)
	}
	s, found := t.search(name)
	f.searched.Store(name, searchResult{s, found})
	return s, found
}

// searchResult is the result of a search of a whole .symtab.
type searchResult struct {
	symbol Symbol
	found  bool
}

// fewSearches is the number of linear searches before an index is built, which costs as much as twenty. Most
// tables are searched only for entry points of missing runtimes: four names, by each reader and in each pass of
// a look at a process.
const fewSearches = 8

// LookupDynamic finds the definition of a symbol among the dynamic symbols
// only.
func (f *File) LookupDynamic(name string) (Symbol, bool) {
	t, err := f.dynsym()
	if err != nil {
		return Symbol{}, false
	}
	addr, ok := f.Dynamic(elf.DT_GNU_HASH)
	if !ok {
		return t.scan(name, t.len())
	}
	if s, ok := f.gnuLookup(t, addr, name); ok {
		return s, true
	}
	return t.scan(name, t.locals())
}

// locals counts the local symbols at the table's start, which a hash table leaves out. Linkers put thread-local
// variables of -fvisibility=hidden there.
func (t *symbolTable) locals() uint64 {
	n := uint64(1)
	for n < t.len() && t.isLocal(n) {
		n++
	}
	return n
}

// considerEntry makes entry i the best match if it defines name, and if it is the first match or a global
// symbol with the default version.
func (t *symbolTable) considerEntry(best *Symbol, found *bool, i uint64, name string) {
	if i >= t.len() || !t.hasName(i, name) {
		return
	}
	s := t.entryAt(i)
	if !s.Defined() {
		return
	}
	v, _ := t.version(i)
	if preferred := v&hiddenVersion == 0 && s.Bind != elf.STB_LOCAL; !*found || preferred {
		s.Name = name
		*best, *found = s, true
	}
}

// hasName reports whether entry i has the name, in time that does not depend on the entry's.
func (t *symbolTable) hasName(i uint64, name string) bool {
	off := uint64(binary.LittleEndian.Uint32(t.raw[i*symSize:]))
	n := uint64(len(name))
	if off > uint64(len(t.strtab)) || n > uint64(len(t.strtab))-off || string(t.strtab[off:off+n]) != name {
		return false
	}
	return off+n == uint64(len(t.strtab)) || t.strtab[off+n] == 0
}

// scan searches the first n entries.
func (t *symbolTable) scan(name string, n uint64) (best Symbol, found bool) {
	for i := range n {
		t.considerEntry(&best, &found, i, name)
	}
	return best, found
}

// gnuHash is the header of a DT_GNU_HASH table.
type gnuHash struct {
	buckets, symOffset, bloomSize, bloomShift uint32
	bloom, bucket, chain                      uint64 // virtual addresses
}

// gnuHeader reads the header at addr and finds the three arrays after it.
func (f *File) gnuHeader(addr uint64) (gnuHash, error) {
	b, err := f.DataAt(addr, 16)
	if err != nil {
		return gnuHash{}, err
	}
	le := binary.LittleEndian
	h := gnuHash{buckets: le.Uint32(b), symOffset: le.Uint32(b[4:]), bloomSize: le.Uint32(b[8:]),
		bloomShift: le.Uint32(b[12:])}
	h.bloom = addr + 16
	h.bucket = h.bloom + 8*uint64(h.bloomSize)
	h.chain = h.bucket + 4*uint64(h.buckets)
	if h.buckets == 0 || h.bloomSize == 0 {
		return h, fmt.Errorf("%w: empty hash table", ErrDamaged)
	}
	return h, nil
}

// gnuLookup checks the Bloom filter, then walks the chain of the name's bucket. A chain ends with an odd entry;
// all versions of a name are in one chain.
func (f *File) gnuLookup(t *symbolTable, addr uint64, name string) (best Symbol, found bool) {
	h, err := f.gnuHeader(addr)
	if err != nil {
		return t.scan(name, t.len())
	}
	sum := gnuSum(name)
	word, err := f.DataAt(h.bloom+8*uint64(sum/64%h.bloomSize), 8)
	if err != nil {
		return best, false
	}
	mask := uint64(1)<<(sum%64) | uint64(1)<<(sum>>(h.bloomShift%32)%64)
	if binary.LittleEndian.Uint64(word)&mask != mask {
		return best, false
	}
	first, err := f.DataAt(h.bucket+4*uint64(sum%h.buckets), 4)
	if err != nil {
		return best, false
	}
	i := binary.LittleEndian.Uint32(first)
	for n := 0; n < maxChain && i >= h.symOffset && i != 0; n++ {
		c, err := f.DataAt(h.chain+4*uint64(i-h.symOffset), 4)
		if err != nil {
			break
		}
		link := binary.LittleEndian.Uint32(c)
		if link|1 == sum|1 {
			t.considerEntry(&best, &found, uint64(i), name)
		}
		if link&1 != 0 {
			break
		}
		i++
	}
	return best, found
}

// gnuSum returns the hash of DT_GNU_HASH.
func gnuSum[T string | []byte](name T) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}

// hashLen returns the number of dynamic symbols by a hash table.
func (f *File) hashLen() (uint64, error) {
	if addr, ok := f.Dynamic(elf.DT_HASH); ok {
		b, err := f.DataAt(addr, 8)
		if err != nil {
			return 0, err
		}
		return uint64(binary.LittleEndian.Uint32(b[4:])), nil
	}
	addr, ok := f.Dynamic(elf.DT_GNU_HASH)
	if !ok {
		return 0, fmt.Errorf("%w: no hash table", ErrDamaged)
	}
	h, err := f.gnuHeader(addr)
	if err != nil {
		return 0, err
	}
	return f.gnuLen(h)
}

// gnuLen walks the chain of the highest bucket to its end.
func (f *File) gnuLen(h gnuHash) (uint64, error) {
	b, err := f.dataFrom(h.bucket, 4*uint64(h.buckets))
	if err != nil {
		return 0, err
	}
	last := uint32(0)
	for ; len(b) >= 4; b = b[4:] {
		last = max(last, binary.LittleEndian.Uint32(b))
	}
	if last < h.symOffset {
		return uint64(h.symOffset), nil
	}
	chain, err := f.dataFrom(h.chain+4*uint64(last-h.symOffset), 4*maxChain)
	if err != nil {
		return 0, err
	}
	for n := uint64(last) + 1; len(chain) >= 4; n, chain = n+1, chain[4:] {
		if chain[0]&1 != 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: hash chain without end", ErrDamaged)
}

// search searches all entries, with the same result as the index.
func (t *symbolTable) search(name string) (Symbol, bool) {
	best := uint64(0)
	for i := uint64(1); i < t.len(); i++ {
		if t.hasName(i, name) && t.isWanted(i) && (best == 0 || t.isLocal(best) && !t.isLocal(i)) {
			best = i
		}
	}
	if best == 0 {
		return Symbol{}, false
	}
	s := t.entryAt(best)
	s.Name = name
	return s, true
}

// nameIndex is a hash table over the defined, named entries of .symtab.
type nameIndex struct {
	t     *symbolTable
	slots []uint32 // index of an entry; 0: empty; linear probing
}

// buildIndex adds all entries of .symtab that can be looked up by name.
func (f *File) buildIndex() *nameIndex {
	t, err := f.symtab()
	if err != nil || t.len() > 1<<31 {
		return &nameIndex{}
	}
	size := uint64(4)
	for size < 2*t.len() {
		size *= 2
	}
	if f.memory.Take("index of symbols", 4*size) != nil {
		return &nameIndex{}
	}
	x := &nameIndex{t: t, slots: make([]uint32, size)}
	for i, left := uint64(1), maxNames; i < t.len() && left > 0; i++ {
		if t.isWanted(i) {
			left -= x.add(uint32(i))
		}
	}
	return x
}

// add adds entry i; an existing name keeps its slot, for the entry with the better binding. It returns the
// length of the name.
func (x *nameIndex) add(i uint32) int {
	name := x.t.name(uint64(i))
	if len(name) == 0 {
		return 0
	}
	if at, ok := x.find(name); ok {
		slot := &x.slots[at]
		if *slot == 0 || x.t.isLocal(uint64(*slot)) && !x.t.isLocal(uint64(i)) {
			*slot = i
		}
	}
	return len(name)
}

// find returns the slot of the name, or the empty slot for it; false if neither is within maxProbe.
func (x *nameIndex) find(name []byte) (uint64, bool) {
	mask := uint64(len(x.slots) - 1)
	at := uint64(gnuSum(name)) * 0x9e3779b97f4a7c15 >> 20 & mask
	for range maxProbe {
		if x.slots[at] == 0 || bytes.Equal(x.t.name(uint64(x.slots[at])), name) {
			return at, true
		}
		at = (at + 1) & mask
	}
	return 0, false
}

// lookup returns the entry that has the name.
func (x *nameIndex) lookup(name string) (Symbol, bool) {
	if len(x.slots) == 0 || name == "" {
		return Symbol{}, false
	}
	at, ok := x.find([]byte(name))
	i := x.slots[at]
	if !ok || i == 0 {
		return Symbol{}, false
	}
	s := x.t.entryAt(uint64(i))
	s.Name = name
	return s, true
}

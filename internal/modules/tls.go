package modules

import (
	"debug/elf"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// maxTLSModule bounds the number of a module with thread-local variables.
const maxTLSModule = maxModules

// descriptor is how glibc describes a field to libthread_db: three 32-bit
// words with the size in bits, the number of elements and the offset.
type descriptor struct{ bits, elements, offset uint64 }

// descriptorSize is the size of a descriptor in bytes.
const descriptorSize = 12

// descriptors are those of glibc's thread-local storage.
type descriptors struct {
	modid     descriptor // link_map.l_tls_modid
	tlsOffset descriptor // link_map.l_tls_offset, where the module's block has a fixed place
	dtvp      descriptor // pthread.dtvp
	dtv       descriptor // dtv[]
	pointer   descriptor // dtv_t.pointer.val
	pthread   uint64     // size of struct pthread
	err       error
}

// ThreadSymbol returns the address of a thread's own instance of a
// thread-local symbol, as callbacks.Symbols has it. tp is the thread pointer.
//
// The executable's block lies at a fixed distance from the thread pointer; that
// of a library is found through the thread's dtv (ELF Handling For Thread-Local
// Storage, section 3).
func (t *Table) ThreadSymbol(tp uint64, name, file string) (callbacks.Address, error) {
	e, s, err := t.find(name, file, true)
	if err != nil {
		return callbacks.Address{}, err
	}
	if tp == 0 {
		return callbacks.Address{}, fmt.Errorf("%s: %w: the thread has no thread pointer", name, callbacks.ErrNoThreadStorage)
	}
	block, err := uint64(0), error(nil)
	if e.mod.Main {
		block, err = t.mainBlock(e, tp)
	} else {
		block, err = t.libraryBlock(e, tp)
	}
	if err != nil {
		return callbacks.Address{}, fmt.Errorf("%s in %s: %w", name, e.mod.Path, err)
	}
	return callbacks.At(block + s.Value), nil
}

// mainBlock is the executable's block. On x86-64 it ends at the thread pointer
// (variant II); on aarch64 it begins after the two words there (variant I).
func (t *Table) mainBlock(e *entry, tp uint64) (uint64, error) {
	for _, p := range e.progs() {
		if p.Type != elf.PT_TLS {
			continue
		}
		align := max(p.Align, 1)
		if t.facts.Arch == callbacks.ArchAArch64 {
			const tcbSize = 16
			return tp + (tcbSize+align-1)&^(align-1), nil
		}
		return tp - (p.Memsz+align-1)&^(align-1), nil
	}
	return 0, fmt.Errorf("%w: no PT_TLS", callbacks.ErrNoThreadStorage)
}

// libraryBlock follows link_map.l_tls_modid and the thread's dtv.
func (t *Table) libraryBlock(e *entry, tp uint64) (uint64, error) {
	d := t.libc()
	if d.err != nil {
		return 0, d.err
	}
	if e.linkMap == 0 {
		return 0, fmt.Errorf("%w: the module is in no list of the loader", callbacks.ErrNoThreadStorage)
	}
	id, err := t.word(e.linkMap+d.modid.offset, 8)
	if err != nil {
		return 0, fmt.Errorf("l_tls_modid: %w", err)
	}
	if id == 0 || id > maxTLSModule {
		return 0, fmt.Errorf("%w: l_tls_modid is %d", callbacks.ErrNoThreadStorage, id)
	}
	dtv, err := t.word(t.pthreadOf(tp, d)+d.dtvp.offset, 8)
	if err != nil {
		return 0, fmt.Errorf("dtv of the thread: %w", err)
	}
	block, err := t.dtvSlot(d, dtv, id)
	if err != nil || block != 0 {
		return block, err
	}
	return t.staticBlock(e, d, tp)
}

// dtvSlot reads the pointer of slot id; it is 0 if the slot is not there yet.
// The word before the dtv is the number of its slots, and all bits set mark a
// block that was not allocated.
func (t *Table) dtvSlot(d *descriptors, dtv, id uint64) (uint64, error) {
	stride := d.dtv.bits / 8
	slots, err := t.word(dtv-stride, 8)
	if err != nil {
		return 0, fmt.Errorf("dtv: %w", err)
	}
	if id > slots {
		return 0, nil
	}
	v, err := t.word(dtv+d.dtv.offset+id*stride+d.pointer.offset, 8)
	if err != nil {
		return 0, fmt.Errorf("dtv[%d]: %w", id, err)
	}
	if v&1 != 0 {
		return 0, nil
	}
	return v, nil
}

// staticBlock is the block of a module that was given a fixed place when the
// program started, or by dlopen, and whose dtv slot is not filled in yet.
func (t *Table) staticBlock(e *entry, d *descriptors, tp uint64) (uint64, error) {
	if d.tlsOffset.bits == 0 {
		return 0, callbacks.ErrNoThreadStorage
	}
	off, err := t.word(e.linkMap+d.tlsOffset.offset, 8)
	if err != nil {
		return 0, fmt.Errorf("l_tls_offset: %w", err)
	}
	// 0 and the values -1 and -2 say that the module has no fixed place.
	if off == 0 || off+2 < 2 {
		return 0, callbacks.ErrNoThreadStorage
	}
	if t.facts.Arch == callbacks.ArchAArch64 {
		return tp + off, nil
	}
	return tp - off, nil
}

// pthreadOf is the address of struct pthread, which the thread pointer points
// to on x86-64 and behind on aarch64.
func (t *Table) pthreadOf(tp uint64, d *descriptors) uint64 {
	if t.facts.Arch == callbacks.ArchAArch64 {
		return tp - d.pthread
	}
	return tp
}

// Pthread returns the pthread_t of the thread with that thread pointer. On
// aarch64 that takes glibc's own word for the size of struct pthread; without
// it the error is ErrUnsupportedKind.
func (t *Table) Pthread(tp uint64) (uint64, error) {
	if t.facts.Arch != callbacks.ArchAArch64 || tp == 0 {
		return tp, nil
	}
	d := t.libc()
	if d.pthread == 0 {
		return 0, fmt.Errorf("%w: the program's libc does not say where its threads lie", callbacks.ErrUnsupportedKind)
	}
	return tp - d.pthread, nil
}

// ThreadPointer returns the thread pointer of the thread with that pthread_t.
func (t *Table) ThreadPointer(pthread uint64) (uint64, error) {
	if t.facts.Arch != callbacks.ArchAArch64 {
		return pthread, nil
	}
	base, err := t.Pthread(pthread) // the same distance, the other way
	return pthread + (pthread - base), err
}

// findDescriptors reads glibc's descriptors. They are constants that libthread_db
// looks up by name; every libc.so.6 exports them, and a static executable has
// them among its symbols.
func (t *Table) findDescriptors() *descriptors {
	d := &descriptors{}
	for _, f := range []struct {
		name string
		to   *descriptor
		must bool
	}{
		{"_thread_db_link_map_l_tls_modid", &d.modid, true},
		{"_thread_db_link_map_l_tls_offset", &d.tlsOffset, false},
		{"_thread_db_pthread_dtvp", &d.dtvp, true},
		{"_thread_db_dtv_dtv", &d.dtv, true},
		{"_thread_db_dtv_t_pointer_val", &d.pointer, true},
	} {
		b, err := t.constant(f.name, descriptorSize)
		if err != nil && f.must && d.err == nil {
			d.err = fmt.Errorf("thread-local storage of this libc is not known: %w", err)
		}
		if err == nil {
			*f.to = descriptor{callbacks.Word(b[:4]), callbacks.Word(b[4:8]), callbacks.Word(b[8:12])}
		}
	}
	if b, err := t.constant("_thread_db_sizeof_pthread", 4); err == nil {
		d.pthread = callbacks.Word(b)
	}
	return d
}

// constant reads a constant from the file of the module that defines it.
func (t *Table) constant(name string, n int) ([]byte, error) {
	e, s, err := t.find(name, "", false)
	if err != nil {
		return nil, err
	}
	if e.file == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrNoFile)
	}
	return e.file.DataAt(s.Value, n)
}

package libc

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// maxStorageModule bounds the number of a module with thread-local variables: programs
// that load a thousand plug-ins exist.
const maxStorageModule = 1 << 14

// descriptor is glibc's description of a field for libthread_db: three 32-bit words with the size in bits, the
// number of elements and the offset.
type descriptor struct{ bits, elements, offset uint64 }

// descriptorSize is the size of a descriptor in bytes.
const descriptorSize = 12

// describe reads a descriptor.
func describe(s Source, name string) (descriptor, error) {
	b, err := s.Constant(name, descriptorSize)
	if err != nil {
		return descriptor{}, err
	}
	return descriptor{callbacks.Word(b[:4]), callbacks.Word(b[4:8]), callbacks.Word(b[8:12])}, nil
}

// Storage is the location of the thread-local variables of libraries in glibc: through the thread's dtv, its
// vector of blocks (ELF Handling For Thread-Local Storage, section 3).
type Storage struct {
	moduleID  descriptor // link_map.l_tls_modid
	fixed     descriptor // link_map.l_tls_offset, for a module's block at a fixed place
	vector    descriptor // pthread.dtvp
	slots     descriptor // dtv[]
	pointer   descriptor // dtv_t.pointer.val
	blockSize uint64     // size of struct pthread
	err       error
}

// FindStorage reads glibc's descriptors. They are constants that libthread_db looks up by name;
// every libc.so.6 exports them, and a static executable has them among its symbols. Missing ones
// are reported where they are needed.
func FindStorage(s Source) *Storage {
	st := &Storage{}
	for _, f := range []struct {
		name string
		to   *descriptor
		must bool
	}{
		{"_thread_db_link_map_l_tls_modid", &st.moduleID, true},
		{"_thread_db_link_map_l_tls_offset", &st.fixed, false},
		{"_thread_db_pthread_dtvp", &st.vector, true},
		{"_thread_db_dtv_dtv", &st.slots, true},
		{"_thread_db_dtv_t_pointer_val", &st.pointer, true},
	} {
		d, err := describe(s, f.name)
		if err != nil && f.must && st.err == nil {
			st.err = fmt.Errorf("thread-local storage of this libc is not known: %w", err)
		}
		*f.to = d
	}
	if b, err := s.Constant("_thread_db_sizeof_pthread", 4); err == nil {
		st.blockSize = callbacks.Word(b)
	}
	return st
}

// Block returns the address of a library's thread-local variables in the thread with thread pointer
// tp. The address of its struct link_map identifies the library.
func (s *Storage) Block(mem callbacks.Memory, a callbacks.Arch, linkMap, tp uint64) (uint64, error) {
	if s.err != nil {
		return 0, s.err
	}
	r := &reader{mem: mem}
	id := r.word(linkMap + s.moduleID.offset)
	if r.err != nil {
		return 0, fmt.Errorf("l_tls_modid: %w", r.err)
	}
	if id == 0 || id > maxStorageModule {
		return 0, fmt.Errorf("%w: l_tls_modid at %#x is %d", callbacks.ErrNoThreadStorage, linkMap+s.moduleID.offset,
			id)
	}
	block := s.slot(r, s.threadBlock(a, tp), id)
	if r.err != nil {
		return 0, fmt.Errorf("dtv of the thread: %w", r.err)
	}
	if block != 0 {
		return block, nil
	}
	return s.fixedBlock(r, a, linkMap, tp)
}

// slot reads the pointer of slot id of a thread's dtv; it is 0 if the slot does not exist yet. The word before
// the dtv is the number of its slots; a value of all ones marks an unallocated block.
func (s *Storage) slot(r *reader, thread, id uint64) uint64 {
	dtv := r.word(thread + s.vector.offset)
	stride := s.slots.bits / 8
	if slots := r.word(dtv - stride); id > slots {
		return 0
	}
	v := r.word(dtv + s.slots.offset + id*stride + s.pointer.offset)
	if v&1 != 0 {
		return 0
	}
	return v
}

// fixedBlock returns the block of a module with a fixed offset, given at program start or by dlopen, before its
// dtv slot is filled in.
func (s *Storage) fixedBlock(r *reader, a callbacks.Arch, linkMap, tp uint64) (uint64, error) {
	if s.fixed.bits == 0 {
		return 0, callbacks.ErrNoThreadStorage
	}
	off := r.word(linkMap + s.fixed.offset)
	if r.err != nil {
		return 0, fmt.Errorf("l_tls_offset: %w", r.err)
	}
	// 0, -1 and -2 mean that the module has no fixed place.
	if off == 0 || off+2 < 2 {
		return 0, callbacks.ErrNoThreadStorage
	}
	if arch.Of(a).HeaderSize != 0 {
		return tp + off, nil
	}
	return tp - off, nil
}

// threadBlock returns the address of struct pthread, to which the thread pointer points on x86-64,
// and which precedes it on aarch64.
func (s *Storage) threadBlock(a callbacks.Arch, tp uint64) uint64 {
	if arch.Of(a).PthreadAtTP {
		return tp
	}
	return tp - s.blockSize
}

// Pthread returns the pthread_t of the thread with that thread pointer. On aarch64 that requires glibc's size
// of struct pthread; without it the error is callbacks.ErrUnsupportedKind.
func (s *Storage) Pthread(tp uint64) (uint64, error) {
	if s.blockSize == 0 {
		return 0, fmt.Errorf("%w: the program's libc does not say where its threads lie", callbacks.ErrUnsupportedKind)
	}
	return tp - s.blockSize, nil
}

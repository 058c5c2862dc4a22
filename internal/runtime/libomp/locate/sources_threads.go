package locate

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// ErrNotInitialized means that the runtime is loaded, but the program has made no OpenMP call yet: there is no
// state to read.
var ErrNotInitialized = fmt.Errorf("the OpenMP runtime is not initialized: the program has made no OpenMP call yet: %w",
	callbacks.Unavailable)

// maxThreads bounds the length of __kmp_threads. The runtime itself refuses more
// than 32,768 threads by default (KMP_MAX_NTH).
const maxThreads = 1 << 20

// poolRelation returns the distances of the runtime's globals from __kmp_thread_pool, which it exports. In all
// releases kmp_global.cpp declares them next to each other; still, the data there must confirm them.
func poolRelation() map[string]int64 {
	return map[string]int64{
		"__kmp_threads": -0x48, "__kmp_root": -0x40, "__kmp_nth": -8, "__kmp_all_nth": -4,
		"__kmp_thread_pool": 0, "__kmp_team_pool": 8,
	}
}

// findThreads finds the globals around __kmp_thread_pool. Without that symbol, it searches memory for the pair
// of __kmp_threads and __kmp_root.
func (s *memorySource) findThreads(parts []callbacks.Mapping) error {
	pool, err := layout.SymbolIn(s.target, s.module, "__kmp_thread_pool")
	if err != nil {
		pool, err = s.searchThreads(parts)
	}
	if err == nil {
		s.live, err = s.confirm(pool)
	}
	if err != nil {
		return err
	}
	for name, distance := range poolRelation() {
		s.globals[name] = pool.Add(uint64(distance))
	}
	return nil
}

// confirm checks by the live data that __kmp_threads is at its place if __kmp_thread_pool is at pool. It returns
// the first threads.
func (s *memorySource) confirm(pool callbacks.Address) ([]callbacks.Address, error) {
	threads, root, count, err := poolGlobals(s.target, pool)
	switch {
	case err != nil:
		return nil, err
	case threads == 0 && root == 0 && count == 0:
		return nil, ErrNotInitialized
	}
	capacity, ok := arrayLength(threads, root)
	if !ok || count < 0 || uint64(count) > capacity {
		return nil, fmt.Errorf("%d threads, and __kmp_threads %#x and __kmp_root %#x around __kmp_thread_pool, are "+
			"not plausible", count, threads, root)
	}
	return s.confirmArray(callbacks.Addr(threads), capacity)
}

// poolGlobals reads __kmp_threads, __kmp_root and __kmp_all_nth from their places if __kmp_thread_pool is at
// pool.
func poolGlobals(t callbacks.Target, pool callbacks.Address) (threads, root uint64, count int64, err error) {
	low := poolRelation()["__kmp_threads"]
	r := layout.ReadSize(t, pool.Add(uint64(low)), uint64(8-low))
	at := func(name string, size uint64) layout.Field {
		return layout.Field{Offset: uint64(poolRelation()[name] - low), Size: size}
	}
	threads, root, count = r.Uint(at("__kmp_threads", 8)), r.Uint(at("__kmp_root", 8)), r.Int(at("__kmp_all_nth", 4))
	if r.Err() != nil {
		err = fmt.Errorf("globals around __kmp_thread_pool: %w", r.Err())
	}
	return threads, root, count, err
}

// asleep reports whether the runtime in mod is certainly not initialized. It costs little more than a read, and
// makes the other sources unnecessary.
func asleep(t callbacks.Target, mod *callbacks.Module) bool {
	pool, err := layout.SymbolIn(t, mod, "__kmp_thread_pool")
	if err != nil {
		return false
	}
	threads, root, count, err := poolGlobals(t, pool)
	if err != nil || threads != 0 || root != 0 || count != 0 {
		return false
	}
	own, err := layout.SymbolIn(t, mod, "__kmp_threads")
	if err != nil {
		return true // the symbols are missing, and the data around the pool does not contradict it
	}
	threads, err = layout.ReadUint(t, own, 8)
	return err == nil && threads == 0
}

// arrayLength returns the length of __kmp_threads: the array that __kmp_root points to follows directly, in the
// same allocation.
func arrayLength(threads, root uint64) (uint64, bool) {
	n := (root - threads) / 8
	return n, threads != 0 && root > threads && threads%8 == 0 && root%8 == 0 && n <= maxThreads
}

// checkedThreads is the number of threads that are checked.
const checkedThreads = 16

// confirmArray checks the first threads of the array, which has holes: each must have its own index.
func (s *memorySource) confirmArray(threads callbacks.Address, capacity uint64) (live []callbacks.Address, err error) {
	gtid := s.gtidField()
	n := min(capacity, layout.MaxRecord/8)
	r := layout.ReadSize(s.target, threads, n*8)
	for i := range n {
		info := r.Address(layout.Field{Offset: i * 8, Size: 8})
		if info.IsNull() || len(live) == checkedThreads {
			continue
		}
		got := layout.Read(s.target, info, gtid)
		if id := got.Uint(gtid); got.Err() != nil || id != i {
			return nil, fmt.Errorf("__kmp_threads[%d] at %v has the number %d (%v)", i, threads, id, got.Err())
		}
		live = append(live, info)
	}
	if r.Err() != nil || len(live) == 0 {
		return nil, fmt.Errorf("__kmp_threads at %v holds no thread (%v)", threads, r.Err())
	}
	return live, nil
}

// gtidField returns the field with a thread's number: in all releases it follows the number in the team, which
// the description has.
func (s *memorySource) gtidField() layout.Field {
	tid, err := s.Field("kmp_base_info_t", "th_info.ds.ds_tid")
	if err != nil {
		tid = layout.Field{Offset: 32, Size: 4} // in all releases so far, for a runtime built without OMPD
	}
	return layout.Field{Offset: tid.End(), Size: tid.Size}
}

// searchThreads finds __kmp_threads in a runtime without any symbol.
func (s *memorySource) searchThreads(parts []callbacks.Mapping) (pool callbacks.Address, err error) {
	found := 0
	search(s.target, parts, 16, func(low callbacks.Address, data []byte) {
		for i := -low.Offset % 8; i+16 <= uint64(len(data)); i += 8 {
			threads := callbacks.Word(data[i : i+8])
			if _, ok := arrayLength(threads, callbacks.Word(data[i+8:i+16])); !ok ||
				s.module.Contains(callbacks.Addr(threads)) {
				continue // pointers in the module point to the two variables themselves
			}
			at := low.Add(i - uint64(poolRelation()["__kmp_threads"]))
			if _, err := s.confirm(at); err == nil {
				pool = at
				found++
			}
		}
	})
	if found != 1 {
		return pool, fmt.Errorf("%d places in the runtime's memory look like __kmp_threads: %w", found,
			layout.ErrUnknown)
	}
	return pool, nil
}

package oracle

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// The variables of libomp's description of itself for libompd (ompd-specific.h), in the order of their addresses.
// A stripped runtime has them without names.
const (
	accessWords = `kmp_base_info_t:th_current_task,th_team,th_info,ompt_thread_info kmp_base_root_t:r_in_parallel
		kmp_base_team_t:ompt_team_info,ompt_serialized_team_info,t_active_level,t_implicit_task_taskdata,t_master_tid,t_nproc,t_level,t_parent,t_pkfn,t_threads
		kmp_desc_t:ds kmp_desc_base_t:ds_thread,ds_tid kmp_info_t:th kmp_r_sched_t:r_sched_type,chunk kmp_root_t:r
		kmp_internal_control_t:dynamic,max_active_levels,nproc,proc_bind,sched,default_device,thread_limit
		kmp_taskdata_t:ompt_task_info,td_flags,td_icvs,td_parent,td_team kmp_task_t:routine kmp_team_p:t
		kmp_nested_nthreads_t:used,nth kmp_nested_proc_bind_t:used,bind_types
		ompt_task_info_t:frame,scheduling_parent,task_data ompt_team_info_t:parallel_data ompt_thread_info_t:state,wait_id,thread_data
		ompt_data_t:value,ptr ompt_frame_t:exit_frame,enter_frame ompt_lw_taskteam_t:parent,ompt_team_info,ompt_task_info`
	bitWords  = `kmp_tasking_flags_t:final,tiedness,tasktype,task_serial,tasking_ser,team_serial,started,executing,complete,freed,native`
	sizeWords = `kmp_info_t kmp_taskdata_t kmp_task_t kmp_tasking_flags_t kmp_thread_t ompt_data_t ompt_id_t
		__kmp_avail_proc __kmp_max_nth __kmp_stksize __kmp_omp_cancellation __kmp_max_task_priority __kmp_display_affinity
		__kmp_affinity_format __kmp_tool_libraries __kmp_tool_verbose_init __kmp_tool ompd_state kmp_nested_nthreads_t
		__kmp_nested_nth kmp_nested_proc_bind_t __kmp_nested_proc_bind int char __kmp_gtid __kmp_nth`
	moreWords = `ompd_dll_locations ompd_state ompd_env_block ompd_env_block_size`
)

// described returns the names of the variables in the order of their addresses, and the index of the first bit
// mask among them.
func described() (names []string, firstMask int) {
	members := func(prefix, list string) {
		for _, group := range strings.Fields(list) {
			typ, fields, _ := strings.Cut(group, ":")
			for _, f := range strings.Split(fields, ",") {
				names = append(names, prefix+typ+"__"+f)
			}
		}
	}
	members("ompd_access__", accessWords)
	members("ompd_sizeof__", accessWords)
	firstMask = len(names)
	members("ompd_bitfield__", bitWords)
	for _, typ := range strings.Fields(sizeWords) {
		names = append(names, "ompd_sizeof__"+typ)
	}
	return append(names, strings.Fields(moreWords)...), firstMask
}

// masks are the values of the 11 bit masks, in all releases.
var masks = []uint64{2, 1, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24}

// gtidBase is the base of the addresses at which the callbacks present the thread-local __kmp_gtid of each thread
// to libompd: no target uses them.
const gtidBase = 0xfff0_0000_0000_0000

// server answers libompd's callbacks from a target.
type server struct {
	target  callbacks.Target
	symbols map[string]uint64
	gtids   map[uint64]uint32 // by LWP
	unknown map[string]int    // symbols that were looked up in vain
}

// newServer recovers the runtime's description of itself from the module's memory. globals are the addresses that
// only this module could find.
func newServer(t *testing.T, target callbacks.Target, module *callbacks.Module, globals []layout.Entry) *server {
	t.Helper()
	s := &server{target: target, symbols: map[string]uint64{}, gtids: map[uint64]uint32{}, unknown: map[string]int{}}
	for _, e := range globals {
		if e.Type == "" && e.Global != 0 && e.Err == nil {
			s.symbols[e.Name] = e.Global
		}
	}
	var needle []byte
	for _, m := range masks {
		needle = binary.LittleEndian.AppendUint64(needle, m)
	}
	names, first := described()
	found := 0
	for _, m := range target.(callbacks.MappingLister).Mappings() {
		if m.Perm&callbacks.PermWrite == 0 || m.High.Offset <= module.Low.Offset || m.Low.Offset >= module.High.Offset {
			continue
		}
		data := make([]byte, m.High.Sub(m.Low))
		if err := target.ReadMemory(m.Low, data); err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(data, needle); i >= 0 {
			found++
			for n, name := range names {
				s.symbols[name] = m.Low.Offset + uint64(i+8*(n-first))
			}
		}
	}
	if found != 1 {
		t.Fatalf("the runtime in %s describes itself %d times, want once", module.Path, found)
	}
	s.matchThreads(t)
	return s
}

// word reads 8 bytes of the target.
func (s *server) word(t *testing.T, a uint64) uint64 {
	t.Helper()
	p := make([]byte, 8)
	if err := s.target.ReadMemory(callbacks.Addr(a), p); err != nil {
		t.Fatal(err)
	}
	return callbacks.Word(p)
}

// value reads the variable name of the description.
func (s *server) value(t *testing.T, name string) uint64 { return s.word(t, s.symbols[name]) }

// matchThreads finds the runtime's number of each LWP: the runtime's thread structures contain their pthread_t.
func (s *server) matchThreads(t *testing.T) {
	t.Helper()
	pthreads, err := s.target.ThreadIDs(callbacks.ThreadIDPthread)
	if err != nil {
		t.Fatal(err)
	}
	lwps, err := s.target.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatal(err)
	}
	off := s.value(t, "ompd_access__kmp_info_t__th") + s.value(t, "ompd_access__kmp_base_info_t__th_info") +
		s.value(t, "ompd_access__kmp_desc_t__ds") + s.value(t, "ompd_access__kmp_desc_base_t__ds_thread")
	threads := s.word(t, s.symbols["__kmp_threads"])
	const slots = 32 // the runtime's first allocation has at least as many
	for gtid := range uint32(slots) {
		info := s.word(t, threads+8*uint64(gtid))
		if info == 0 {
			continue
		}
		pthread := s.word(t, info+off)
		if i := slices.Index(pthreads, callbacks.Pthread(pthread)); i >= 0 {
			s.gtids[lwps[i].Value] = gtid
		}
	}
}

// serve answers one callback: "symbol THREAD NAME", "read ADDRESS SIZE" or "string
// ADDRESS SIZE".
func (s *server) serve(words []string) (callbacks.RC, []byte) {
	n, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		return callbacks.BadInput, nil
	}
	if words[0] == "symbol" {
		a, ok := s.symbol(n, words[2])
		if !ok {
			s.unknown[words[2]]++
			return callbacks.Error, nil
		}
		return callbacks.OK, binary.LittleEndian.AppendUint64(nil, a)
	}
	size, err := strconv.ParseUint(words[2], 10, 32)
	if err != nil {
		return callbacks.BadInput, nil
	}
	p := make([]byte, size)
	if err := s.read(n, p, words[0] == "string"); err != nil {
		return callbacks.DeviceReadError, nil
	}
	return callbacks.OK, p
}

func (s *server) symbol(lwp uint64, name string) (uint64, bool) {
	if name == "__kmp_gtid" {
		return gtidBase + 4*lwp, lwp != 0
	}
	if a, ok := s.symbols[name]; ok {
		return a, true
	}
	a, err := s.target.Symbol(name, "")
	return a.Offset, err == nil
}

// read reads memory; of a string, as much as is readable.
func (s *server) read(a uint64, p []byte, text bool) error {
	if a >= gtidBase {
		gtid, ok := s.gtids[(a-gtidBase)/4]
		if !ok {
			gtid = ^uint32(1) // KMP_GTID_DNE: not an OpenMP thread
		}
		binary.LittleEndian.PutUint32(p, gtid)
		return nil
	}
	if !text {
		return s.target.ReadMemory(callbacks.Addr(a), p)
	}
	for i := range p {
		if err := s.target.ReadMemory(callbacks.Addr(a+uint64(i)), p[i:i+1]); err != nil {
			return err
		}
		if p[i] == 0 {
			break
		}
	}
	return nil
}

package locate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// The runtime describes itself to OMPD in variables of 8 bytes each (ompd-specific.h), in the same order in
// memory in all releases. They are filled when the runtime is initialized.
const (
	ompdAccess = `kmp_base_info_t th_current_task th_team th_info ompt_thread_info
kmp_base_root_t r_in_parallel
kmp_base_team_t ompt_team_info ompt_serialized_team_info t_active_level t_implicit_task_taskdata t_master_tid t_nproc t_level t_parent t_pkfn t_threads
kmp_desc_t ds
kmp_desc_base_t ds_thread ds_tid
kmp_info_t th
kmp_r_sched_t r_sched_type chunk
kmp_root_t r
kmp_internal_control_t dynamic max_active_levels nproc proc_bind sched default_device thread_limit
kmp_taskdata_t ompt_task_info td_flags td_icvs td_parent td_team
kmp_task_t routine
kmp_team_p t
kmp_nested_nthreads_t used nth
kmp_nested_proc_bind_t used bind_types
ompt_task_info_t frame scheduling_parent task_data
ompt_team_info_t parallel_data
ompt_thread_info_t state wait_id thread_data
ompt_data_t value ptr
ompt_frame_t exit_frame enter_frame
ompt_lw_taskteam_t parent ompt_team_info ompt_task_info`
	ompdBits  = `kmp_tasking_flags_t final tiedness tasktype task_serial tasking_ser team_serial started executing complete freed native`
	ompdSizes = `kmp_info_t kmp_taskdata_t kmp_task_t kmp_tasking_flags_t kmp_thread_t ompt_data_t ompt_id_t
__kmp_avail_proc __kmp_max_nth __kmp_stksize __kmp_omp_cancellation __kmp_max_task_priority __kmp_display_affinity
__kmp_affinity_format __kmp_tool_libraries __kmp_tool_verbose_init __kmp_tool ompd_state kmp_nested_nthreads_t
__kmp_nested_nth kmp_nested_proc_bind_t __kmp_nested_proc_bind int char __kmp_gtid __kmp_nth`
)

// ompdWord identifies one variable. The size of a structure has no field.
type ompdWord struct {
	kind       string // access, sizeof or bitfield
	typ, field string
}

// symbol returns the variable's name.
func (w ompdWord) symbol() string {
	if w.field == "" {
		return "ompd_" + w.kind + "__" + w.typ
	}
	return "ompd_" + w.kind + "__" + w.typ + "__" + w.field
}

// ompdWords lists the variables in memory order.
func ompdWords() []ompdWord {
	var access, sizes []ompdWord
	for line := range strings.Lines(ompdAccess) {
		w := strings.Fields(line)
		for _, field := range w[1:] {
			access = append(access, ompdWord{"access", w[0], field})
			sizes = append(sizes, ompdWord{"sizeof", w[0], field})
		}
	}
	words := append(access, sizes...)
	bits := strings.Fields(ompdBits)
	for _, b := range bits[1:] {
		words = append(words, ompdWord{"bitfield", bits[0], b})
	}
	for _, t := range strings.Fields(ompdSizes) {
		words = append(words, ompdWord{"sizeof", t, ""})
	}
	return words
}

// ompdGlobals lists the variables that follow in memory.
func ompdGlobals() []string {
	return []string{"ompd_dll_locations", "ompd_state", "ompd_env_block", "ompd_env_block_size"}
}

// memberTypes returns the types of nested structures: with them, a path of fields is composed of the
// descriptions of single fields.
func memberTypes(typ, field string) string {
	switch typ + "." + field {
	case "kmp_info_t.th":
		return "kmp_base_info_t"
	case "kmp_base_info_t.th_info":
		return "kmp_desc_t"
	case "kmp_desc_t.ds":
		return "kmp_desc_base_t"
	case "kmp_base_info_t.ompt_thread_info":
		return "ompt_thread_info_t"
	case "kmp_base_team_t.ompt_team_info", "ompt_lw_taskteam_t.ompt_team_info":
		return "ompt_team_info_t"
	case "kmp_taskdata_t.ompt_task_info", "ompt_lw_taskteam_t.ompt_task_info":
		return "ompt_task_info_t"
	case "ompt_task_info_t.frame":
		return "ompt_frame_t"
	case "kmp_taskdata_t.td_flags":
		return "kmp_tasking_flags_t"
	case "kmp_taskdata_t.td_icvs":
		return "kmp_internal_control_t"
	case "kmp_internal_control_t.sched":
		return "kmp_r_sched_t"
	}
	return ""
}

// ompdTable is a source on top of the runtime's OMPD description. word returns the value of one variable, or
// ErrUnknown if it is missing.
type ompdTable struct {
	word func(ompdWord) (uint64, error)
}

// Field composes a path of fields.
func (t ompdTable) Field(typ, path string) (layout.Field, error) {
	field, rest, nested := strings.Cut(path, ".")
	f, err := t.member(typ, field)
	if err != nil || !nested {
		return f, err
	}
	inner, err := t.Field(memberTypes(typ, field), rest)
	if err != nil {
		return layout.Field{}, err
	}
	return inner.InOuter(f), nil
}

// member returns a field that has its own entry in the description.
func (t ompdTable) member(typ, field string) (layout.Field, error) {
	offset, err := t.word(ompdWord{"access", typ, field})
	if errors.Is(err, layout.ErrUnknown) {
		return t.bits(typ, field)
	}
	if err != nil {
		return layout.Field{}, err
	}
	size, err := t.word(ompdWord{"sizeof", typ, field})
	if err != nil {
		return layout.Field{}, err
	}
	if size == 0 { // before the description is filled
		return layout.Field{}, layout.ErrUnknown
	}
	if offset > layout.MaxRecord || size > layout.MaxRecord {
		return layout.Field{}, fmt.Errorf("%s.%s at %d with %d bytes is beyond the bound of %d", typ, field, offset,
			size, layout.MaxRecord)
	}
	return layout.Field{Offset: offset, Size: size}, nil
}

// bits returns a bit field of a structure that is one word.
func (t ompdTable) bits(typ, field string) (layout.Field, error) {
	mask, err := t.word(ompdWord{"bitfield", typ, field})
	if err != nil {
		return layout.Field{}, err
	}
	if mask == 0 {
		return layout.Field{}, layout.ErrUnknown
	}
	whole, err := t.Type(typ)
	return layout.Field{Size: whole.Size, Mask: mask}, err
}

// Type returns the size of a structure.
func (t ompdTable) Type(typ string) (layout.Type, error) {
	size, err := t.word(ompdWord{"sizeof", typ, ""})
	switch {
	case err != nil:
		return layout.Type{}, err
	case size == 0:
		return layout.Type{}, layout.ErrUnknown
	case size > layout.MaxRecord:
		return layout.Type{}, fmt.Errorf("%s with %d bytes is beyond the bound of %d", typ, size, layout.MaxRecord)
	}
	return layout.Type{Size: size}, nil
}

// symbolSource is the source on top of the symbols of a runtime that is not stripped.
type symbolSource struct {
	ompdTable
	target callbacks.Target
	module *callbacks.Module
	absent bool // the description's symbols are missing
	asked  bool
}

func newSymbolSource(t callbacks.Target, mod *callbacks.Module) *symbolSource {
	s := &symbolSource{target: t, module: mod}
	s.ompdTable.word = s.variable
	return s
}

// Name returns "symbols".
func (s *symbolSource) Name() string { return "symbols" }

// Global returns the address of a symbol of the runtime's module.
func (s *symbolSource) Global(name string) (uint64, error) {
	a, err := layout.SymbolIn(s.target, s.module, name)
	return a.Offset, err
}

// variable reads one variable of the description. If the first is missing, the others are not looked up.
func (s *symbolSource) variable(w ompdWord) (uint64, error) {
	if !s.asked {
		s.asked = true
		_, err := layout.SymbolIn(s.target, s.module, ompdWord{"sizeof", "kmp_info_t", ""}.symbol())
		s.absent = err != nil
	}
	if s.absent {
		return 0, layout.ErrUnknown
	}
	a, err := layout.SymbolIn(s.target, s.module, w.symbol())
	if err != nil {
		return 0, err
	}
	return layout.ReadUint(s.target, a, 8)
}

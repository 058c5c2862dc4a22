package rtl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/handles"
)

// IntegerICV returns an integer value. text formats it; nil means decimal.
func IntegerICV(v int64, text func(int64) string, source string) handles.ICVValue {
	return ListICV(v, nil, true, text, source)
}

// ListICV returns a value with one element for the current nesting level and one for each deeper one, in the
// format of IntegerICV. whole means that all deeper ones are known.
func ListICV(first int64, rest []int64, whole bool, text func(int64) string, source string) handles.ICVValue {
	if text == nil {
		text = func(v int64) string { return NameOf(v) }
	}
	parts := []string{text(first)}
	for _, v := range rest {
		parts = append(parts, text(v))
	}
	return handles.ICVValue{Int: first, Text: strings.Join(parts, ","), Whole: whole && len(rest) == 0, Source: source}
}

// NameOf returns names[v], or v in decimal if it is out of range.
func NameOf(v int64, names ...string) string {
	if v >= 0 && v < int64(len(names)) {
		return names[v]
	}
	return strconv.FormatInt(v, 10)
}

// BoolText returns "true" or "false".
func BoolText(v int64) string {
	if v != 0 {
		return "true"
	}
	return "false"
}

// ProcBindText names values of the standard's omp_proc_bind_t.
func ProcBindText(v int64) string { return NameOf(v, "false", "true", "primary", "close", "spread") }

// EnabledText returns "enabled" or "disabled".
func EnabledText(v int64) string {
	if v != 0 {
		return "enabled"
	}
	return "disabled"
}

// allocators lists the predefined values of the standard's omp_allocator_handle_t.
var allocators = []string{
	"omp_null_allocator", "omp_default_mem_alloc", "omp_large_cap_mem_alloc", "omp_const_mem_alloc",
	"omp_high_bw_mem_alloc", "omp_low_lat_mem_alloc", "omp_cgroup_mem_alloc", "omp_pteam_mem_alloc",
	"omp_thread_mem_alloc",
}

// AllocatorText returns the name of an omp_allocator_handle_t; a value that is not in the standard is an
// address.
func AllocatorText(v int64) string {
	if v >= 0 && v < int64(len(allocators)) {
		return allocators[v]
	}
	return fmt.Sprintf("%#x", uint64(v))
}

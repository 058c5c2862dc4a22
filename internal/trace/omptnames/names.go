// Package omptnames maps OMPT's events to their names in OpenMP 5.1 (ompt_callbacks_t, section 4.4.2). Package legacy
// does the same for the documents before it.
package omptnames

// callbacks are the names of ompt_callbacks_t's values, without their prefix.
var callbacks = [...]string{
	1: "thread_begin", "thread_end", "parallel_begin", "parallel_end", "task_create", "task_schedule", "implicit_task",
	"target", "target_data_op", "target_submit", "control_tool", "device_initialize", "device_finalize", "device_load",
	"device_unload", "sync_region_wait", "mutex_released", "dependences", "task_dependence", "work", "masked",
	"target_map", "sync_region", "lock_init", "lock_destroy", "mutex_acquire", "mutex_acquired", "nest_lock", "flush",
	"cancel", "reduction", "dispatch", "target_emi", "target_data_op_emi", "target_submit_emi", "target_map_emi",
	"error",
}

// Callback returns the name of a value of ompt_callbacks_t, or "" if it is not one.
func Callback(code uint8) string {
	if int(code) >= len(callbacks) || callbacks[code] == "" {
		return ""
	}
	return "ompt_callback_" + callbacks[code]
}

// Callbacks returns all names, in the order of their values.
func Callbacks() (all []string) {
	for code := range callbacks[1:] {
		all = append(all, Callback(uint8(code+1)))
	}
	return all
}

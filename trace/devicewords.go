package trace

import "fmt"

// targets are the values of ompt_target_t.
var targets = []string{
	"", "a target region", "entering target data", "leaving target data", "a target update", "", "", "", "",
	"a deferred target region", "deferred entering of target data", "deferred leaving of target data",
	"a deferred target update",
}

// operations are the values of ompt_target_data_op_t, each with a place for a number of bytes.
var operations = []string{
	"", "an allocation on a device", "a copy to a device", "a copy from a device", "a release on a device",
	"an association with memory of a device", "a disassociation from memory of a device",
	7: "a copy", 8: "a memset on a device", 9: "a copy of a subvolume", // OpenMP 6.0
}

// asynchronous is the difference between the numbers of asynchronous and synchronous operations.
const asynchronous = 16

// TargetName returns a kind of ompt_target_t in words.
func TargetName(kind uint8) string { return bare(pick(targets, kind, "a target construct")) }

// OperationName returns a kind of ompt_target_data_op_t in words.
func OperationName(kind uint8) string { return bare(operationOf(kind)) }

func operationOf(kind uint8) string {
	if kind > asynchronous {
		kind -= asynchronous
	}
	return pick(operations, kind, "a data operation")
}

// operation returns a data operation in words, with its number of bytes, addresses and devices.
func (e *Event) operation() string {
	s := operationOf(e.Kind) + e.size()
	t := e.Transfer()
	if t == nil {
		return s
	}
	return s + fmt.Sprintf(", from %#x of device %d to %#x of device %d", t.Source, t.SourceDevice, t.Destination,
		t.DestinationDevice)
}

// mapFlags are the bits of ompt_target_map_flag_t in OpenMP 5.2 and 6.0.
var mapFlags = []string{"to", "from", "alloc", "release", "delete", "implicit", "always", "present", "close", "shared"}

// mapped returns the mapped variables in words: their addresses, sizes and flags.
func (e *Event) mapped() string {
	var parts []string
	for _, m := range e.Mappings() {
		s := fmt.Sprintf("%#x on the device at %#x, %d bytes", m.Host, m.Device, m.Bytes)
		for bit, name := range mapFlags {
			if m.Flags>>bit&1 != 0 {
				s += " " + name
			}
		}
		parts = append(parts, s)
	}
	return listFirst(parts, int(e.Value))
}

// size returns the number of bytes in an event's second record as text; "" if it is not recorded.
func (e *Event) size() string {
	if len(e.More) < recordSize {
		return ""
	}
	if n := le.Uint64(e.More); n > 0 {
		return fmt.Sprintf(", %d bytes", n)
	}
	return ""
}

// deviceText returns an event's own text in a form that follows its subject; "" if the runtime gave none.
func (e *Event) deviceText() string {
	if s := e.Text(); s != "" {
		return ": " + s
	}
	return ""
}

// ofDevice returns the phrases of device events.
func (w Words) ofDevice(e *Event) string {
	switch e.Code {
	case Target, TargetEMI:
		return e.ends("begins ", "ends ") + pick(targets, e.Kind, "a target construct") +
			fmt.Sprintf(" on device %d", int32(e.Value))
	case TargetDataOp, TargetDataOpEMI:
		return e.ends("begins ", "ends ") + e.operation()
	case TargetSubmit, TargetSubmitEMI:
		return e.ends("begins", "ends") + " the execution of a kernel"
	case TargetMap, TargetMapEMI:
		return "maps " + count(e.Value, "variable", "variables") + e.mapped()
	case DeviceInitialize:
		return fmt.Sprintf("device %d is there", int32(e.Value)) + e.deviceText()
	case DeviceFinalize:
		return fmt.Sprintf("device %d is given up", int32(e.Value))
	case DeviceLoad:
		s := fmt.Sprintf("code is loaded on device %d", int32(e.Value)) + e.size()
		if l := e.Load(); l != nil {
			s += fmt.Sprintf(", from %#x of the host to %#x, module %d", l.Host, l.Device, l.Module)
			if e.Text() != "" {
				s += fmt.Sprintf(", offset %d of the file", l.Offset)
			}
		}
		return s + e.deviceText()
	case DeviceRecord:
		return e.traced()
	case DeviceUnload:
		return fmt.Sprintf("code is unloaded from device %d", int32(e.Value))
	}
	return fmt.Sprintf("event %d", e.Code)
}

// traced returns the phrase of a record from a device's own trace, or the number of damaged ones.
func (e *Event) traced() string {
	if e.Kind == 0 {
		return fmt.Sprintf("damaged records of device %d: %d", int32(e.Value), e.A)
	}
	what := fmt.Sprintf("an event of type %d", e.Kind)
	switch Code(e.Kind) {
	case Target, TargetEMI:
		what = "a target construct"
	case TargetDataOp, TargetDataOpEMI:
		what = "a data operation"
		// The body of ompt_record_target_data_op_t starts at byte 32, with optype at 8 and bytes at 48.
		if b := e.Bytes(); len(b) >= 88 {
			what = operationOf(uint8(le.Uint32(b[40:])))
			if n := le.Uint64(b[80:]); n > 0 {
				what += fmt.Sprintf(", %d bytes", n)
			}
		}
	case TargetSubmit, TargetSubmitEMI:
		what = "the execution of a kernel"
	case TargetMap, TargetMapEMI:
		what = "a mapping of variables"
	}
	return fmt.Sprintf("device %d traced %s, at %d of its clock", int32(e.Value), what, e.A)
}

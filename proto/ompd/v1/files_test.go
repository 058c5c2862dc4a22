package ompdv1

import (
	"iter"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// files are the descriptors of this API.
func files() []protoreflect.FileDescriptor {
	return []protoreflect.FileDescriptor{
		File_ompd_v1_debugger_service_proto, File_ompd_v1_inspection_service_proto,
		File_ompd_v1_ompd_service_proto, File_ompd_v1_picture_proto, File_ompd_v1_trace_service_proto,
	}
}

// list makes a slice of a descriptor list.
func list[D protoreflect.Descriptor](l interface {
	Len() int
	Get(int) D
}) []D {
	var out []D
	for i := range l.Len() {
		out = append(out, l.Get(i))
	}
	return out
}

// messages yields the messages of a file, nested ones too, without those of map
// fields.
func messages(of interface {
	Messages() protoreflect.MessageDescriptors
}) iter.Seq[protoreflect.MessageDescriptor] {
	return func(yield func(protoreflect.MessageDescriptor) bool) {
		for _, m := range list(of.Messages()) {
			if m.IsMapEntry() {
				continue
			}
			if !yield(m) {
				return
			}
			for inner := range messages(m) {
				if !yield(inner) {
					return
				}
			}
		}
	}
}

// enums are the enums of a file and of its messages.
func enums(f protoreflect.FileDescriptor) []protoreflect.EnumDescriptor {
	out := list(f.Enums())
	for m := range messages(f) {
		out = append(out, list(m.Enums())...)
	}
	return out
}

package server

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// masked is a request with a read mask (AIP-157).
type masked interface{ GetReadMask() *fieldmaskpb.FieldMask }

// applyMask returns a response with the fields of each element that the request's read mask names: of the message, or
// of the messages in the list, that the response is about. An unknown field is an error.
func applyMask(req, resp any) (any, error) {
	r, ok := req.(masked)
	m, isMessage := resp.(proto.Message)
	if !ok || !isMessage || len(r.GetReadMask().GetPaths()) == 0 || slices.Contains(r.GetReadMask().GetPaths(), "*") {
		return resp, nil
	}
	paths := r.GetReadMask().GetPaths()
	out := m.ProtoReflect().New()
	var err error
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
			out.Set(f, v)
		case f.IsList():
			list := out.Mutable(f).List()
			for i := 0; i < v.List().Len() && err == nil; i++ {
				var part protoreflect.Message
				if part, err = selectFields(v.List().Get(i).Message(), paths); err == nil {
					list.Append(protoreflect.ValueOfMessage(part))
				}
			}
		default:
			var part protoreflect.Message
			if part, err = selectFields(v.Message(), paths); err == nil {
				out.Set(f, protoreflect.ValueOfMessage(part))
			}
		}
		return err == nil
	})
	return out.Interface(), err
}

// selectFields returns a message with the fields that paths name, and those of the messages in it: "state.name". The
// values are shared with m, which is not changed.
func selectFields(m protoreflect.Message, paths []string) (protoreflect.Message, error) {
	out := m.New()
	inner := map[string][]string{}
	for _, path := range paths {
		name, rest, nested := strings.Cut(path, ".")
		f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if f == nil || nested && (f.Kind() != protoreflect.MessageKind || f.Cardinality() == protoreflect.Repeated) {
			return nil, failure(codes.InvalidArgument, "UNKNOWN_FIELD", "read_mask: %s has no field %q",
				m.Descriptor().Name(), path)
		}
		switch {
		case nested:
			inner[name] = append(inner[name], rest)
		case m.Has(f):
			out.Set(f, m.Get(f))
		}
	}
	for name, rest := range inner {
		f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		part, err := selectFields(m.Get(f).Message(), rest)
		if err != nil {
			return nil, err
		}
		if m.Has(f) && !out.Has(f) {
			out.Set(f, protoreflect.ValueOfMessage(part))
		}
	}
	return out, nil
}

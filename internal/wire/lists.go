package wire

import "google.golang.org/protobuf/proto"

// Message is a message of type M, by its pointer.
type Message[M any] interface {
	*M
	proto.Message
}

// PackAll converts structs to messages.
func PackAll[M, T any, P Message[M]](list []T) ([]*M, error) {
	out := make([]*M, len(list))
	for i := range list {
		out[i] = new(M)
		if err := Pack(&list[i], P(out[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// UnpackAll converts messages to structs.
func UnpackAll[T, M any, P Message[M]](list []*M) ([]T, error) {
	out := make([]T, len(list))
	for i, m := range list {
		if err := Unpack(P(m), &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

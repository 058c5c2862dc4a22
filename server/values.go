package server

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxValues bounds the messages within one message: an empty one takes two encoded bytes and about eighty in
// memory. A debugger's message with the registers of ten thousand threads has fewer.
const maxValues = 1 << 19

// count returns left less the number of messages within an encoded one of a kind; it is negative if there are
// more. The decoder reports damaged input.
func count(kind protoreflect.MessageDescriptor, b []byte, left int) int {
	for len(b) > 0 && left >= 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return left
		}
		size := protowire.ConsumeFieldValue(number, typ, b[n:])
		if size < 0 {
			return left
		}
		field := kind.Fields().ByNumber(number)
		if typ == protowire.BytesType && field != nil && field.Message() != nil {
			content, _ := protowire.ConsumeBytes(b[n:])
			left = count(field.Message(), content, left-1)
		}
		b = b[n+size:]
	}
	return left
}

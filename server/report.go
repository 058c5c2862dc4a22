package server

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// reportParts are the parts of a report.
var reportParts = []ompdv1.PicturePart{
	ompdv1.PicturePart_PICTURE_PART_THREADS, ompdv1.PicturePart_PICTURE_PART_REGIONS,
	ompdv1.PicturePart_PICTURE_PART_TASKS,
	ompdv1.PicturePart_PICTURE_PART_DEVICES, ompdv1.PicturePart_PICTURE_PART_STACKS,
	ompdv1.PicturePart_PICTURE_PART_VERDICTS,
}

// questionOf returns the query for the wanted parts of a picture; by default, those of a report.
func questionOf(wanted []ompdv1.PicturePart) engine.Query {
	const native = ompdv1.PicturePart_PICTURE_PART_NATIVE_STACKS
	if !slices.ContainsFunc(wanted, func(p ompdv1.PicturePart) bool { return p != native }) {
		wanted = append(slices.Clip(wanted), reportParts...)
	}
	has := func(p ompdv1.PicturePart) bool { return slices.Contains(wanted, p) }
	return engine.Query{Parts: picture.Parts{
		Threads: has(ompdv1.PicturePart_PICTURE_PART_THREADS), Regions: has(ompdv1.PicturePart_PICTURE_PART_REGIONS),
		Tasks: has(ompdv1.PicturePart_PICTURE_PART_TASKS), ICVs: has(ompdv1.PicturePart_PICTURE_PART_ICVS),
		Devices: has(ompdv1.PicturePart_PICTURE_PART_DEVICES),
		Stacks:  has(ompdv1.PicturePart_PICTURE_PART_STACKS), Native: has(native),
	}, Verdicts: has(ompdv1.PicturePart_PICTURE_PART_VERDICTS), Layout: has(ompdv1.PicturePart_PICTURE_PART_LAYOUT),
		Checks: has(ompdv1.PicturePart_PICTURE_PART_CHECKS)}
}

// picture returns the picture of a target's present stop as a message. Equal requests in a row share one
// message, so that many slow readers hold one copy.
func (t *target) picture(parts []ompdv1.PicturePart) (*ompdv1.Picture, error) {
	v, err := t.look()
	if err != nil {
		return nil, err
	}
	q := questionOf(parts)
	if v.last.picture != nil && v.last.of == q {
		return v.last.picture, nil
	}
	v.last.forget()
	m := new(ompdv1.Picture)
	if err := wire.Pack(v.snapshot.Ask(q).Picture, m); err != nil {
		return nil, err
	}
	v.last.keep(m, q, t.memory.Part())
	return m, nil
}

// pictured is the last picture of a view, with its question.
type pictured struct {
	of      engine.Query
	picture *ompdv1.Picture
	memory  *budget.Ledger
}

// inMemory is the approximate memory in bytes per sent byte of a message.
const inMemory = 6

// keep keeps a picture if there is memory for it.
func (p *pictured) keep(m *ompdv1.Picture, q engine.Query, memory *budget.Ledger) {
	if memory.Try("a picture", inMemory*uint64(proto.Size(m))) == nil {
		*p = pictured{q, m, memory}
	}
}

// forget drops the picture and its memory.
func (p *pictured) forget() {
	p.memory.Close()
	*p = pictured{}
}

// GetReport sends the picture in pieces.
func (s *inspection) GetReport(req *ompdv1.GetReportRequest, stream ompdv1.InspectionService_GetReportServer) error {
	var pic *ompdv1.Picture
	var stop uint32
	err := withTarget(stream.Context(), req, func(t *target) (err error) {
		stop = t.stop
		pic, err = t.picture(req.GetParts())
		return err
	})
	if err != nil {
		return err
	}
	return pieces(pic, s.server.cfg.Limits.piece(), func(p *ompdv1.Picture, _ bool) error {
		return stream.Send(&ompdv1.GetReportResponse{Stop: stop, Picture: p})
	})
}

// pieces calls send with parts of a picture of at most room bytes each, unless one element is larger. The
// merged parts equal the picture.
func pieces(whole *ompdv1.Picture, room int, send func(p *ompdv1.Picture, last bool) error) error {
	c := &cutter[*ompdv1.Picture]{piece: new(ompdv1.Picture), room: room, send: send, more: newPicture}
	facts := whole.GetFacts()
	c.scalars(whole.ProtoReflect(), c.piece.ProtoReflect())
	if facts != nil {
		c.piece.Facts = new(ompdv1.Facts)
		c.scalars(facts.ProtoReflect(), c.piece.Facts.ProtoReflect())
		c.lists(facts.ProtoReflect(), func() protoreflect.Message {
			if c.piece.Facts == nil {
				c.piece.Facts = new(ompdv1.Facts)
			}
			return c.piece.Facts.ProtoReflect()
		})
	}
	c.lists(whole.ProtoReflect(), func() protoreflect.Message { return c.piece.ProtoReflect() })
	if c.err != nil {
		return c.err
	}
	return send(c.piece, true)
}

// newPicture returns an empty picture.
func newPicture() *ompdv1.Picture { return new(ompdv1.Picture) }

// cutter cuts a message into pieces.
type cutter[M proto.Message] struct {
	piece      M
	used, room int
	send       func(p M, last bool) error
	more       func() M // the next piece
	err        error
}

// scalars copies the scalar fields and small messages into the first piece, but not the facts, which contain
// lists.
func (c *cutter[M]) scalars(from, to protoreflect.Message) {
	from.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !d.IsList() && d.Name() != "facts" {
			to.Set(d, v)
		}
		return true
	})
}

// lists sends the lists of a message; to returns the message in the present piece.
func (c *cutter[M]) lists(from protoreflect.Message, to func() protoreflect.Message) {
	from.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		for i := 0; d.IsList() && i < v.List().Len() && c.err == nil; i++ {
			element := v.List().Get(i)
			n := sizeOf(d, element)
			if c.used > 0 && c.used+n > c.room {
				c.err = c.send(c.piece, false)
				c.piece, c.used = c.more(), 0
			}
			to().Mutable(d).List().Append(element)
			c.used += n
		}
		return c.err == nil
	})
}

// sizeOf returns the approximate size in bytes of a list element.
func sizeOf(d protoreflect.FieldDescriptor, v protoreflect.Value) int {
	const head = 8 // of tag and length
	if d.Message() != nil {
		return proto.Size(v.Message().Interface()) + head
	}
	return len(v.String()) + head
}

package server

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// reportParts are the parts of a report.
var reportParts = []ompdv1.PicturePart{
	ompdv1.PicturePart_PICTURE_PART_THREADS, ompdv1.PicturePart_PICTURE_PART_REGIONS, ompdv1.PicturePart_PICTURE_PART_TASKS,
	ompdv1.PicturePart_PICTURE_PART_STACKS, ompdv1.PicturePart_PICTURE_PART_VERDICTS,
}

// pictureOf makes an Inspector's picture of the wanted parts; of a report's parts
// if none are.
func pictureOf(in *inspect.Inspector, wanted []ompdv1.PicturePart) *inspect.Picture {
	const native = ompdv1.PicturePart_PICTURE_PART_NATIVE_STACKS
	if !slices.ContainsFunc(wanted, func(p ompdv1.PicturePart) bool { return p != native }) {
		wanted = append(slices.Clip(wanted), reportParts...)
	}
	has := func(p ompdv1.PicturePart) bool { return slices.Contains(wanted, p) }
	parts := inspect.Parts{
		Threads: has(ompdv1.PicturePart_PICTURE_PART_THREADS), Regions: has(ompdv1.PicturePart_PICTURE_PART_REGIONS),
		Tasks: has(ompdv1.PicturePart_PICTURE_PART_TASKS), ICVs: has(ompdv1.PicturePart_PICTURE_PART_ICVS),
		Stacks: has(ompdv1.PicturePart_PICTURE_PART_STACKS), Native: has(native),
	}
	picture := in.Picture
	if has(ompdv1.PicturePart_PICTURE_PART_VERDICTS) {
		picture = func(p inspect.Parts) *inspect.Picture { return diagnose.Picture(in, p) }
	}
	pic := picture(parts)
	if has(ompdv1.PicturePart_PICTURE_PART_LAYOUT) {
		pic.Layout = in.Layout()
	}
	if has(ompdv1.PicturePart_PICTURE_PART_CHECKS) {
		pic.Checks = in.Doctor()
	}
	in.Complete(pic)
	return pic
}

// picture makes the picture of a target's present stop as a message.
func (t *target) picture(parts []ompdv1.PicturePart) (*ompdv1.Picture, error) {
	v, err := t.look()
	if err != nil {
		return nil, err
	}
	m := new(ompdv1.Picture)
	return m, wire.Pack(pictureOf(v.in, parts), m)
}

// GetReport sends the picture in pieces.
func (s *inspection) GetReport(req *ompdv1.GetReportRequest, stream ompdv1.InspectionService_GetReportServer) error {
	var pic *ompdv1.Picture
	var stop uint32
	err := with(stream.Context(), req, func(t *target) (err error) {
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

// pieces calls send with parts of a picture of at most room bytes, if no element
// of its lists is larger. The parts merged are the picture.
func pieces(whole *ompdv1.Picture, room int, send func(p *ompdv1.Picture, last bool) error) error {
	piece, used := new(ompdv1.Picture), 0
	var err error
	whole.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !d.IsList() {
			piece.ProtoReflect().Set(d, v)
		}
		return true
	})
	whole.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		for i := 0; d.IsList() && i < v.List().Len() && err == nil; i++ {
			element := v.List().Get(i)
			n := sizeOf(d, element)
			if used > 0 && used+n > room {
				err = send(piece, false)
				piece, used = new(ompdv1.Picture), 0
			}
			piece.ProtoReflect().Mutable(d).List().Append(element)
			used += n
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return send(piece, true)
}

// sizeOf is about how many bytes an element of a list takes.
func sizeOf(d protoreflect.FieldDescriptor, v protoreflect.Value) int {
	const head = 8 // tag and length
	if d.Message() != nil {
		return proto.Size(v.Message().Interface()) + head
	}
	return len(v.String()) + head
}

package server

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// cursor is a walk over all tasks that pauses between two pages. There may be millions of tasks: a page must
// not start a new walk, and tasks are not kept.
type cursor struct {
	at   int // tasks returned so far, without ahead
	next func() (picture.Task, bool)
	end  func()
	over bool

	ahead *ompdv1.Task // already read, for the next page
}

// maxCursors bounds the paused walks of one target, and so the clients that list tasks at the same time.
// Further ones restart for each page.
const maxCursors = 4

// cursorAt returns a walk at a position: a paused one or a new one.
func (v *view) cursorAt(ctx context.Context, at int) (*cursor, error) {
	for i, c := range v.cursors {
		if c.at == at {
			v.cursors = append(v.cursors[:i:i], v.cursors[i+1:]...)
			return c, nil
		}
	}
	c := new(cursor)
	c.next, c.end = iter.Pull(v.snapshot.Tasks())
	for c.at < at && !c.over {
		if err := ctx.Err(); err != nil {
			c.end()
			return nil, err
		}
		if _, ok := c.next(); !ok {
			c.over = true
		} else {
			c.at++
		}
	}
	return c, nil
}

// rest keeps a walk for the next page.
func (v *view) rest(c *cursor) {
	if len(v.cursors) == maxCursors {
		v.cursors[0].end()
		v.cursors = v.cursors[1:]
	}
	v.cursors = append(v.cursors, c)
}

// task returns the next task of the walk, nil at its end.
func (c *cursor) task() (*ompdv1.Task, error) {
	if m := c.ahead; m != nil {
		c.ahead = nil
		return m, nil
	}
	t, ok := c.next()
	if !ok {
		return nil, nil
	}
	m := new(ompdv1.Task)
	return m, wire.Pack(&t, m)
}

// page returns the tasks selected by keep, at most size of them and room bytes. more reports whether the walk
// continues.
func (c *cursor) page(ctx context.Context, size, room int, keep func(*ompdv1.Task) bool) (page []*ompdv1.Task,
	more bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		m, err := c.task()
		if err != nil || m == nil {
			return page, false, err
		}
		if !keep(m) {
			c.at++
			continue
		}
		if room -= proto.Size(m); len(page) == size || len(page) > 0 && room < 0 {
			c.ahead = m
			return page, true, nil
		}
		page = append(page, m)
		c.at++
	}
}

// ListTasks lists tasks.
func (s *inspection) ListTasks(ctx context.Context, req *ompdv1.ListTasksRequest) (*ompdv1.ListTasksResponse, error) {
	f, limits := req.GetFilter(), s.server.cfg.Limits
	keep := func(t *ompdv1.Task) bool {
		return among(f.GetRegions(), t.GetRegion()) && among(f.GetStates(), t.GetState()) &&
			among(f.GetKinds(), t.GetKind())
	}
	resp := &ompdv1.ListTasksResponse{}
	return resp, withTarget(ctx, req, func(t *target) error {
		at, err := position(req.GetPageToken(), t.stop)
		if err != nil {
			return err
		}
		v, err := t.look()
		if err != nil {
			return err
		}
		c, err := v.cursorAt(ctx, at)
		if err != nil {
			return err
		}
		page, more, err := c.page(ctx, limits.pageSize(req.GetPageSize()), limits.piece(), keep)
		if err != nil || !more {
			c.end()
		} else {
			v.rest(c)
			resp.NextPageToken = token(t.stop, c.at)
		}
		resp.Tasks = page
		return err
	})
}

// GetTask returns one task.
func (s *inspection) GetTask(ctx context.Context, req *ompdv1.GetTaskRequest) (*ompdv1.GetTaskResponse, error) {
	resp := &ompdv1.GetTaskResponse{}
	return resp, withTarget(ctx, req, func(t *target) error {
		v, err := t.look()
		if err != nil {
			return err
		}
		for task := range v.snapshot.Tasks() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if string(task.ID) == req.GetTask() {
				resp.Task = new(ompdv1.Task)
				return wire.Pack(&task, resp.Task)
			}
		}
		_, err = one[ompdv1.Task](nil, "task", req.GetTask(), nil)
		return err
	})
}

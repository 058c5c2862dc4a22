/* taskwords.h: words of the runtime that stay empty. LLVM's runtime (16 and later) has one word in each thread for a
 * taskwait with dependences, and stops the program if something is in it when the thread comes to such a wait. There
 * are two ways in which a tool's value is: the runtime copies the word of an implicit task there when its region ends,
 * and the thread executes tasks in that barrier; and such a wait executes tasks which wait in the same way. So the word
 * of an implicit task is empty where it is copied, and that of a wait always. Their ids are in the ring's header, and
 * events that bring an empty word get them from there.
 */
#ifndef OMPD_RECORDER_TASKWORDS_H
#define OMPD_RECORDER_TASKWORDS_H

#include "recorder.h"
#include "tables.h"

/* word_of is what the calling thread has in recorder_ring.words for its current task, NULL if it has none. */
inlined uint64_t *word_of(struct recorder_ring *ring) {
    uint32_t n = ring == NULL ? 0 : ring->tasks;
    return n - 1 < RECORDER_TASKS_MAX ? &ring->words[n - 1] : NULL; /* false for n = 0, too */
}

/* word_copied reports whether the runtime copies an implicit task's word after the beginning of such a barrier. That
 * of 16 has one kind for all barriers that nobody has written. */
inlined bool word_copied(ompt_sync_region_t kind) {
    return kind == ompt_sync_region_barrier_implicit || kind == ompt_sync_region_barrier_implicit_parallel ||
           kind == ompt_sync_region_barrier_teams;
}

/* word_empty empties the word of the task that the thread is in. */
inlined void word_empty(ompt_data_t *task) {
    if (rarely(recorder_chained | recorder_given) || task == NULL || task->value == 0) return;
    uint64_t *word = word_of(recorder_mine);
    if (word != NULL) *word = (uint64_t)task;
    task->value = 0;
}

/* word_fill gives the word of the current task its id again, if it was emptied; of a copy of it nothing is known. */
inlined void word_fill(ompt_data_t *task) {
    struct recorder_ring *ring = recorder_mine;
    uint64_t *word = word_of(ring);
    if (word == NULL || *word != (uint64_t)task || recorder_chained) return;
    task->value = ring->task_table[ring->tasks - 1].task;
}

/* word_current is the id of a word that may be a copy of an empty one: the innermost task's of which it is known.
 * Those above it are untied ones that the thread has left (task_at). */
inlined uint64_t word_current(struct recorder_ring *ring, const ompt_data_t *task) {
    uint64_t id = id_of(task);
    uint32_t n = ring->tasks;
    if (id != 0 || task == NULL || n > RECORDER_TASKS_MAX || recorder_chained) return id;
    while (n > 0 && ring->words[n - 1] == 0 && ring->task_table[n - 1].task != 0) n--;
    return n > 0 && ring->words[n - 1] != 0 ? ring->task_table[n - 1].task : 0;
}

/* word_wait is the id of a word that may be that of the taskwait that the current task is in. */
inlined uint64_t word_wait(struct recorder_ring *ring, const ompt_data_t *wait) {
    uint64_t id = id_of(wait), *word;
    if (id != 0 || wait == NULL || (word = word_of(ring)) == NULL) return id;
    return *word >> RECORDER_ID_SHIFT != 0 ? *word : 0; /* an address is no id */
}

#endif

// SPDX-License-Identifier: MIT
#include "stream/trace_ahead.h"

#include "base/grow.h"
#include "stream/trace_input.h"
#include "stream/word_codec.h"

#include <pthread.h>
#include <stdlib.h>

enum state {
    IDLE,    /* nothing requested, or taken */
    ASKED,   /* the thread shall read */
    DONE,    /* read */
    FAILED,  /* could not be read */
    LEAVING, /* the thread shall end */
};

struct hp_trace_ahead {
    /* Owned by the thread while ASKED, else by the reader. */
    struct hp_trace_input input;
    struct hp_word_codec *codec;
    uint32_t *words;
    size_t capacity;
    uint64_t offset;
    struct hp_trace_frame frame;

    bool started;
    pthread_t thread;
    pthread_mutex_t lock; /* of `state` */
    pthread_cond_t changed;
    enum state state;
};

static enum hp_err read_words(struct hp_trace_ahead *a)
{
    if (a->frame.count > HP_WORD_CODEC_MAX)
        return HP_ERR_FORMAT;
    HP_TRY(
        hp_trace_input_load(&a->input, a->offset, &a->frame, hp_word_code_bound(a->frame.count)));
    HP_TRY(
        hp_grow(&a->words, &a->capacity, a->frame.count + HP_WORD_CODEC_SLACK, sizeof *a->words));
    return hp_word_decode(a->codec, a->input.content, a->frame.content, a->words, a->frame.count);
}

static void *work(void *data)
{
    struct hp_trace_ahead *a = data;
    pthread_mutex_lock(&a->lock);
    while (a->state != LEAVING) {
        if (a->state != ASKED) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        enum hp_err err = read_words(a);
        pthread_mutex_lock(&a->lock);
        if (a->state == ASKED)
            a->state = err == HP_OK ? DONE : FAILED;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Waits until the thread is idle, and leaves the lock taken. */
static void wait_for_thread(struct hp_trace_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->state == ASKED)
        pthread_cond_wait(&a->changed, &a->lock);
}

enum hp_err hp_trace_ahead_new(const char *path, struct hp_trace_ahead **ahead)
{
    struct hp_trace_ahead *a = calloc(1, sizeof *a);
    if (!a)
        return hp_fail_nomem();
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    enum hp_err err = hp_trace_input_open(&a->input, path);
    if (err == HP_OK)
        err = hp_word_codec_new(&a->codec);
    if (err != HP_OK) {
        hp_trace_ahead_free(a);
        return err;
    }
    *ahead = a;
    return HP_OK;
}

void hp_trace_ahead_free(struct hp_trace_ahead *a)
{
    if (!a)
        return;
    if (a->started) {
        wait_for_thread(a);
        a->state = LEAVING;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->lock);
        pthread_join(a->thread, NULL);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    hp_trace_input_close(&a->input);
    hp_word_codec_free(a->codec);
    free(a->words);
    free(a);
}

void hp_trace_ahead_ask(struct hp_trace_ahead *a, uint64_t offset,
                        const struct hp_trace_frame *frame)
{
    wait_for_thread(a);
    a->offset = offset;
    a->frame = *frame;
    if (!a->started)
        a->started = pthread_create(&a->thread, NULL, work, a) == 0;
    a->state = a->started ? ASKED : FAILED;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

bool hp_trace_ahead_take(struct hp_trace_ahead *a, uint64_t offset, uint32_t **words,
                         size_t *capacity)
{
    wait_for_thread(a);
    bool there = a->state == DONE && a->offset == offset;
    if (there) {
        uint32_t *taken = a->words;
        size_t taken_capacity = a->capacity;
        a->words = *words;
        a->capacity = *capacity;
        *words = taken;
        *capacity = taken_capacity;
    }
    a->state = IDLE;
    pthread_mutex_unlock(&a->lock);
    return there;
}

/* What a loop over memory can reach at best: benchmarks/core_peer_worker.py compiles and loads it. */
#include <stddef.h>
#include <stdint.h>

enum { kPage = 512, kStreams = 4 };

/* Reads `words` words (a multiple of 2048), four pages at once; the result keeps the reads. */
uint64_t read_memory(const uint64_t* data, size_t words) {
  uint64_t sum[kStreams][16] = {{0}};
  for (size_t i = 0; i < words; i += kStreams * kPage) {
    for (size_t at = 0; at < kPage; at += 16) {
      for (size_t stream = 0; stream < kStreams; ++stream) {
        for (size_t j = 0; j < 16; ++j) {
          sum[stream][j] ^= data[i + stream * kPage + at + j];
        }
      }
    }
  }
  uint64_t all = 0;
  for (size_t stream = 0; stream < kStreams; ++stream) {
    for (size_t j = 0; j < 16; ++j) {
      all ^= sum[stream][j];
    }
  }
  return all;
}

/* The library without linking it: opened locally, closed, and opened again, as a plugin of another program would be.
 * Each time in a thread that ends when the library is closed already. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"

typedef aclError (*Init)(const char*);
typedef aclError (*Finalize)(void);
typedef aclError (*Count)(uint32_t*);

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) printf("%s: %s\n", name, dlerror());
  return found;
}

static void* use(void* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return NULL;
  }
  Init init;
  Finalize finalize;
  Count count;
  void* found[] = {symbol(library, "aclInit"), symbol(library, "aclFinalize"), symbol(library, "aclrtGetDeviceCount")};
  memcpy(&init, &found[0], sizeof init); /* C has no cast from an object to a function */
  memcpy(&finalize, &found[1], sizeof finalize);
  memcpy(&count, &found[2], sizeof count);
  uint32_t devices = 0;
  printf("%d", init(NULL));
  printf(" %d", count(&devices));
  printf(" %u", devices);
  printf(" %d", finalize());
  printf(" %d\n", dlclose(library));
  return NULL;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, use, argv[i]);
    pthread_join(thread, NULL);
  }
  return 0;
}

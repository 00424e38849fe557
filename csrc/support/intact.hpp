// A guard that refuses the use of objects after a change that stopped halfway.
#pragma once

#include "support/errors.hpp"

namespace fastfs::core {

// Tells if a change of an object ended by an exception: the object is broken, and each later use is refused.
class Intact {
  public:
    // Throws InvalidArgument if the object is broken. object: as messages call it, "this stream".
    void require_for(const char* object) const {
        require(!broken_, object,
                " must not be used after an update that stopped halfway: read all rows into a new one");
    }

    // A change in progress: it lives from the first write to the object on, and `finish` declares the last write done.
    class Change {
      public:
        explicit Change(Intact& of) : of_(of) { of_.broken_ = true; }
        Change(const Change&) = delete;
        Change& operator=(const Change&) = delete;
        void finish() { of_.broken_ = false; }

      private:
        Intact& of_;
    };

  private:
    bool broken_ = false;
};

}  // namespace fastfs::core

// Whether the state of an object is whole.
#pragma once

#include "support/errors.hpp"

namespace fastfs::core {

// A change that ends by an exception leaves its object broken: each later use is refused.
class Intact {
  public:
    // what: the change and its object, as in "an update of this stream".
    void require_for(const char* what) const { require(!broken_, what, " stopped halfway: free it and start again"); }

    // Lives from the first write to the object on; `finish` says that the last one is done.
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

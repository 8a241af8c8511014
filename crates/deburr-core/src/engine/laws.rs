//! The laws of a [`Domain`], tested on all pairs and triples of some elements.

use super::domain::Domain;
use std::fmt::Debug;

/// Fails where the elements do not behave as those of a lattice.
pub(crate) fn assert_laws<Element: Domain + Debug>(elements: &[Element], store: &mut Element::Store) {
    let joined = |left: &Element, right: &Element, store: &mut Element::Store| {
        let mut sum = left.clone();
        sum.join(right, store);
        sum
    };
    for left in elements {
        assert!(Element::bottom().leq(left, store), "bottom is below {left:?}");
        assert!(left.leq(left, store), "{left:?} is below itself");
        for right in elements {
            let sum = joined(left, right, store);
            assert!(
                left.leq(&sum, store) && right.leq(&sum, store),
                "{left:?}, {right:?}: {sum:?} is no bound"
            );
            let mut wide = left.clone();
            wide.widen(right, store);
            assert!(
                left.leq(&wide, store) && right.leq(&wide, store),
                "{left:?}, {right:?}: {wide:?} is no bound"
            );
            for third in elements {
                let bound = joined(&sum, third, store);
                assert!(sum.leq(&bound, store), "{left:?}, {right:?}, {third:?}: {bound:?} is no bound");
            }
        }
    }
}

/// Fails where widening by some elements, again and again in turn, does not end within so many steps.
pub(crate) fn assert_widening_ends<Element: Domain + Debug>(
    elements: &[Element],
    steps: usize,
    store: &mut Element::Store,
) {
    let mut wide = Element::bottom();
    let changes = elements.iter().cycle().take(steps * elements.len().max(1));
    let changed = changes.filter(|element| wide.widen(element, store)).count();
    assert!(changed < steps, "{changed} changes, the last to {wide:?}");
}

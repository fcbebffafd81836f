"""Draw all pictures of the pages from running programs: `PYTHONPATH=. python doc/pictures`."""

import draw_architecture
import draw_badges
import draw_dashboard
import draw_page
import draw_trees

draw_badges.main()
draw_trees.main()
draw_dashboard.main()
draw_architecture.main()
draw_page.main()
